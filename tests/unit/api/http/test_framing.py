"""Where a body ends, however it is cut into packets; and never anywhere that llhttp would not agree with."""

from __future__ import annotations

from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.api.http.framing import ChunkedFraming, Framing, LengthFraming
from postroad.errors import Refused

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def run(framing: Framing, pieces: list[bytes]) -> tuple[bytes, bytes, bool] | str:
    """Content, what is left over, and whether it ended; or the code of the refusal."""
    content = b""
    for position, piece in enumerate(pieces):
        try:
            taken = framing.take(piece)
        except Refused as refused:
            return refused.code
        content += taken.content
        if taken.complete:
            return content, taken.rest + b"".join(pieces[position + 1 :]), True
    return content, b"", False


class Oracle:
    """llhttp on the same bytes: the content that it saw, and whether it saw the end or an error."""

    def __init__(self, data: bytes) -> None:
        self.content = b""
        self.ended = self.failed = False
        try:
            httptools.HttpRequestParser(self).feed_data(HEAD + data)
        except httptools.HttpParserError:
            self.failed = not self.ended

    def on_body(self, content: bytes) -> None:
        if not self.ended:
            self.content += content

    def on_message_complete(self) -> None:
        self.ended = True


def test_counted() -> None:
    assert run(LengthFraming(3), [b"a", b"bcd", b"e"]) == (b"abc", b"de", True)
    assert run(LengthFraming(3), [b"ab"]) == (b"ab", b"", False)


CHUNKS = [b"3\r\nabc\r\n0\r\n\r\nrest", b"3;x=y\r\nabc\r\nA\r\n0123456789\r\n00\r\nT: v\r\n\r\nGET", b"0\r\n\r\n"]


@pytest.mark.parametrize("data", CHUNKS)
def test_every_cut_of_a_chunked_body_reads_the_same(data: bytes) -> None:
    whole = run(ChunkedFraming(100), [data])
    assert isinstance(whole, tuple)
    assert whole[2]
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            assert run(ChunkedFraming(100), [data[:first], data[first:second], data[second:]]) == whole


def test_the_limit_counts_content_and_is_exact() -> None:
    assert run(ChunkedFraming(5), [b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"]) == (b"abcde", b"", True)
    assert run(ChunkedFraming(4), [b"3\r\nabc\r\n2\r\n"]) == "wire.too-large"


fragments = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"\r\n",
                b"\n",
                b"\r",
                b"0",
                b"0\r\n\r\n",
                b"3\r\nabc\r\n",
                b"a\r\n0123456789\r\n",
                b"1;e\r\n",
                b"T: v\r\n",
            ]
        ),
        st.sampled_from([b";", b" ", b"x", b"\0", b"\xff", b":", b"F" * 20, b"2\r\nab", b"+1", b"-"]),
        st.binary(max_size=3),
    ),
    max_size=8,
).map(b"".join)


@given(data=fragments, cuts=st.lists(st.integers(0, 80), max_size=4))
def test_never_looser_than_llhttp_and_the_same_for_every_cut(data: bytes, cuts: list[int]) -> None:
    whole = run(ChunkedFraming(1000), [data])
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert run(ChunkedFraming(1000), [data[a:b] for a, b in pairwise(edges)]) == whole
    if isinstance(whole, tuple) and whole[2]:
        oracle = Oracle(data)
        assert (oracle.ended, oracle.content) == (True, whole[0])
