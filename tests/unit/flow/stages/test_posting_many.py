"""Posts of one call share what they can, and each is still answered as if it had come alone."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.codecs.bulk import decode_bulk_answer, encode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.media import NDJSON
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, Part, PostResult, Recipient
from postroad.errors import Refused
from postroad.flow.stages.posting import Answer, Posting
from postroad.testing.network import memory_network

ORDER = Part(id="1", content_type="text/plain", data=b"order")


def post(*to: str, **fields: object) -> Posting:
    message = Message(to=tuple(map(Recipient, to)), parts=(ORDER,), **fields)  # type: ignore[arg-type]
    return Posting(message, len(ORDER.data), "bulk")


async def answers_to(posts: list[Posting]) -> list[Answer]:
    async with memory_network() as running:
        sender = await running.register("Meadow/Orders")
        for name in ("Harbour/Supply", "Acme/Supply"):
            await running.register(name, visibility=Visibility.PUBLIC)
        given: dict[int, Answer] = {}
        all_given = asyncio.Event()

        def answered(place: int, answer: Answer) -> None:
            assert place not in given, "every post is answered once"
            given[place] = answer
            if len(given) == len(posts):
                all_given.set()

        running.network.submit_many(sender, posts, answered)
        await asyncio.wait_for(all_given.wait(), 60)
        return [given[place] for place in range(len(posts))]


def said(answer: Answer) -> list[tuple[str, str]] | str:
    """The recipients with their codes, or the code of a refusal."""
    if isinstance(answer, PostResult):
        return [(recipient.service, recipient.code) for recipient in answer.recipients]
    return answer.code


@pytest.mark.req("M8")
async def test_each_of_many_posts_is_answered_for_its_own_recipients() -> None:
    both = ("Harbour/Supply", "Acme/Supply")
    posts = [
        post("Harbour/Supply"), post("Harbour/Supply", handle="h"), post(*both), post("Harbour/Supply"),
        post("Acme/Supply"), post("Nobody/Here"), post("Acme/Supply", "Nobody/Here"), post("Acme/Supply"),
    ]  # fmt: skip
    answers = await answers_to(posts)
    assert list(map(said, answers)) == [
        [("Harbour/Supply", "")], [("Harbour/Supply", "")], [("Harbour/Supply", ""), ("Acme/Supply", "")],
        [("Harbour/Supply", "")], [("Acme/Supply", "")], "recipient.unknown",
        [("Acme/Supply", ""), ("Nobody/Here", "recipient.unknown")], [("Acme/Supply", "")],
    ]  # fmt: skip
    accepted = [answer.session for answer in answers if isinstance(answer, PostResult)]
    assert len(set(accepted)) == len(accepted) == 7


@pytest.mark.req("M8")
@pytest.mark.parametrize("answer_type", [ENVELOPES, NDJSON, JSON_FORM.media_type])
async def test_what_answers_share_is_written_for_each_of_them(answer_type: str) -> None:
    answers = await answers_to([post("Acme/Supply"), post("Nobody/Here"), post("Acme/Supply"), post("Harbour/Supply")])
    results = [answer for answer in answers if isinstance(answer, PostResult | Refused)]
    read = decode_bulk_answer(answer_type, encode_bulk_answer(answer_type, results))
    assert list(map(said, read)) == list(map(said, answers))
    assert [one for one in read if isinstance(one, PostResult)] == [
        one for one in results if isinstance(one, PostResult)
    ]
