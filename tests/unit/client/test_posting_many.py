"""Bulk posts: cut into calls, answered one by one, repeated without doubling."""

from __future__ import annotations

import pytest

from postroad.client import Message, PostResult, Refused, Unavailable, message
from postroad.client.chunk_post import MAX_BYTES, split_chunks
from postroad.client.steps import ApiRequest, ApiResponse
from postroad.core.codecs.bulk import encode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from tests.unit.client.scripted import LOST, Script, conversations, problem


def orders(number: int) -> list[Message]:
    return [message(to="A/B", document=f"order {place}", handle=f"PO-{place}") for place in range(number)]


def accepted(session: str) -> PostResult:
    return PostResult(session=session, transaction=session)


def answers(*results: PostResult | Refused) -> ApiResponse:
    return ApiResponse(status=200, body=encode_bulk_answer(ENVELOPES, results))


def sent(request: ApiRequest) -> list[Message]:
    return [item for item in ENVELOPE_FORM.decode_posts(request.body) if isinstance(item, Message)]


@pytest.mark.req("K1", "D1")
def test_each_message_has_its_own_answer() -> None:
    refused = Refused("recipient.unknown", "look it up in the directory")
    script = Script([answers(accepted("s0"), refused, accepted("s2"))])
    done: list[int] = []
    results = script.play(conversations().post_many(orders(3), done.append))
    assert [getattr(result, "session", None) for result in results] == ["s0", "", "s2"]
    assert isinstance(results[1], Refused)
    assert results[1].code == "recipient.unknown"
    assert done == [3]
    assert sent(script.requests[0]) == orders(3)


def test_a_chunk_with_messages_that_found_it_busy_is_posted_again_with_its_key() -> None:
    busy, refused = Refused("network.busy", "later"), Refused("recipient.unknown", "look it up")
    script = Script([answers(accepted("s0"), busy, refused), answers(accepted("s0"), accepted("s1"), refused)])
    results = script.play(conversations().post_many(orders(3), lambda done: None))
    assert [result.session for result in results] == ["s0", "s1", ""]
    assert script.requests[0] == script.requests[1]
    assert script.pauses_s == [0.2]


@pytest.mark.req("M6")
def test_after_a_lost_answer_the_chunk_is_posted_again_with_its_key() -> None:
    script = Script([LOST, LOST, answers(accepted("s0"), accepted("s1"))])
    results = script.play(conversations().post_many(orders(2), lambda done: None))
    assert [result.session for result in results] == ["s0", "s1"]
    first, second, third = script.requests
    assert first == second == third
    assert dict(first.headers)["Idempotency-Key"] == "key-1"
    assert sent(first) == orders(2)


def test_each_chunk_has_a_key_of_its_own() -> None:
    many = [message(to="A/B", document=b"x" * MAX_BYTES) for _ in range(3)]
    script = Script([answers(accepted(f"s{place}")) for place in range(3)])
    script.play(conversations().post_many(many, lambda done: None))
    keys = [dict(request.headers)["Idempotency-Key"] for request in script.requests]
    assert keys == ["key-1", "key-2", "key-3"]


def test_a_bulk_that_is_refused_whole_raises() -> None:
    with pytest.raises(Refused, match=r"wire\.too-large"):
        Script([problem(413, "wire.too-large")]).play(conversations().post_many(orders(1), lambda done: None))
    with pytest.raises(Unavailable):
        Script([LOST, LOST]).play(conversations(tries=2).post_many(orders(1), lambda done: None))


def test_busy_to_the_end_is_the_answer() -> None:
    busy = answers(Refused("storage.full", "later"))
    [result] = Script([busy, busy]).play(conversations(tries=2).post_many(orders(1), lambda done: None))
    assert isinstance(result, Refused)
    assert result.code == "storage.full"


def test_answers_that_do_not_fit_are_not_believed() -> None:
    with pytest.raises(Unavailable, match="1 results for 2 messages"):
        Script([answers(accepted("s0"))]).play(conversations().post_many(orders(2), lambda done: None))


def test_chunks_keep_order_number_and_size() -> None:
    cut = list(split_chunks(orders(5), messages_most=2))
    assert [len(chunk) for chunk in cut] == [2, 2, 1]
    assert [item for chunk in cut for item in chunk] == orders(5)
    large = [message(document=b"x" * 1000) for _ in range(3)]
    assert [len(chunk) for chunk in split_chunks(large, bytes_most=3200)] == [2, 1]
    assert list(split_chunks([])) == []
