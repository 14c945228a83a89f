"""Dead letters from a program: pages are followed at the pace that was asked for, and nothing is meant by accident."""

from __future__ import annotations

import msgspec
import pytest

from postroad.client.blocking.dead_letters import DeadLetters
from postroad.client.conversations import ignore_progress
from postroad.client.dead_letters import DeadLetterConversations
from postroad.client.steps import Talk
from postroad.core.model.dead_letter_actions import RESEND
from tests.unit.client.scripted import LOST, Script, conversations, ok


def asked(script: Script) -> list[dict[str, object]]:
    return [msgspec.json.decode(request.body) for request in script.requests]


def letters(script: Script) -> DeadLetters:
    def run(talk: Talk[object]) -> object:
        return script.play(talk)

    return DeadLetters(conversations(), run)  # type: ignore[arg-type]


@pytest.mark.req("D7")
def test_many_are_resent_page_after_page_at_the_rate_that_was_asked_for() -> None:
    script = Script(
        [
            ok({"items": [{"letter": 1, "delivery": 9}, {"letter": 2, "code": "recipient.unknown"}], "next": "c"}),
            ok({"items": []}),
        ]
    )
    told: list[int] = []
    dealt = letters(script).resend_many(service="A/B", rate=2, reason="mended", progress=told.append)
    assert [(one.letter, one.delivery, one.code) for one in dealt] == [(1, 9, ""), (2, 0, "recipient.unknown")]
    first, second = asked(script)
    assert first == {
        "service": "A/B", "reason": "mended", "expiresInS": 0, "limit": 2, "cursor": "",
    }  # fmt: skip
    assert second == first | {"cursor": "c"}
    assert script.pauses_s == [1.0]
    assert told == [2, 2]


@pytest.mark.parametrize(("rate", "limit"), [(0, 100), (0.5, 1), (30, 30), (5_000, 100)])
def test_a_page_is_no_larger_than_a_second_allows(rate: float, limit: int) -> None:
    script = Script([ok({"items": []})])
    letters(script).drop_many("old", topic="t", rate=rate)
    assert asked(script) == [{"topic": "t", "reason": "old", "limit": limit, "cursor": ""}]


def test_without_filters_all_are_meant_and_said_so() -> None:
    script = Script([ok({"matches": 3, "complete": True, "sample": []})])
    assert letters(script).count(topic="").matches == 3
    assert asked(script) == [{"all": True, "dryRun": True}]


def test_a_page_whose_answer_was_lost_is_asked_for_again() -> None:
    script = Script([LOST, ok({"items": [{"letter": 1, "delivery": 2}]})])
    script.play(DeadLetterConversations(conversations()).act_on_many(RESEND, {"all": True}, 0.0, ignore_progress))
    assert asked(script)[0] == asked(script)[1]
