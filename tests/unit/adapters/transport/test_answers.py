"""The reader of answers: the same answer however it is cut, and no surprise whatever it is fed with."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.transport.no_answer import ClosedUnanswered, NoAnswer
from postroad.adapters.transport.response_reader import FAILURE_BYTES, ReceiverResponse, ResponseReader

WHOLE = (
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n"
)
HINTED = (
    b"HTTP/1.1 103 Hints\r\nContent-Type: no/no\r\nRetry-After: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
)


def read(*pieces: bytes, limit: int = 1000) -> ResponseReader:
    reader = ResponseReader(limit)
    for piece in pieces:
        reader.feed(piece)
    return reader


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_an_answer_may_be_cut_anywhere(cuts: list[int]) -> None:
    edges = sorted({0, *cuts, len(WHOLE)})
    reader = read(*[WHOLE[start:end] for start, end in pairwise(edges)])
    headers = {"content-type": "a/b", "transfer-encoding": "chunked"}
    assert reader.answer == ReceiverResponse(
        status=200, headers=headers, fields=tuple(headers.items()), body=b"abcdefg"
    )
    assert reader.reusable


@given(
    st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", WHOLE]),
    st.lists(st.binary(max_size=50), max_size=5),
)
def test_whatever_comes_is_an_answer_or_none(first: bytes, pieces: list[bytes]) -> None:
    reader = ResponseReader(20)
    try:
        for piece in (first, *pieces):
            reader.feed(piece)
        answer = reader.answer or reader.finish()
    except NoAnswer:
        return
    assert len(answer.body) <= (20 if 200 <= answer.status < 300 else FAILURE_BYTES)


def test_headers_of_interim_answers_are_not_those_of_the_answer() -> None:
    answer = read(HINTED).answer
    assert answer is not None
    assert answer.headers == {"content-length": "0"}


@pytest.mark.req("T1")
def test_a_list_may_be_said_in_several_fields() -> None:
    answer = read(b"HTTP/1.1 204 No\r\nPostroad-Property: a=1\r\nDate: now\r\nPostroad-Property: b=2\r\n\r\n").answer
    assert answer is not None
    assert answer.fields == (("postroad-property", "a=1"), ("date", "now"), ("postroad-property", "b=2"))


@pytest.mark.parametrize("length", [999, 1000, 1001])
def test_a_success_may_be_as_long_as_the_limit(length: int) -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + bytes(length)
    if length > 1000:
        with pytest.raises(NoAnswer, match="longer than 1000 bytes"):
            read(data)
    else:
        answer = read(data).answer
        assert answer is not None
        assert len(answer.body) == length


def test_an_end_without_a_byte_is_told_apart_from_one_in_the_middle() -> None:
    with pytest.raises(ClosedUnanswered):
        read().finish()
    with pytest.raises(NoAnswer) as cut:
        read(WHOLE[:40]).finish()
    assert not isinstance(cut.value, ClosedUnanswered)


@pytest.mark.parametrize(
    ("head", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n", False),
        (b"HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n" + bytes(9999), False),
    ],
)
def test_only_an_exact_end_lets_the_connection_be_used_again(head: bytes, reusable: bool) -> None:
    reader = read(head)
    assert reader.answer is not None
    assert reader.reusable is reusable
    reader.feed(b"more")
    assert not reader.reusable
