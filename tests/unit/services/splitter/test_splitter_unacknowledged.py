"""An acknowledgment that cannot be written: the documents are taken once, and the owner has a dead letter that says so."""

from __future__ import annotations

import pytest

from postroad.core.model.batch_policy import OnEnvelopeError
from postroad.core.model.message import MessageType
from postroad.core.model.polling import PollRequest
from postroad.flow.administration.dead_letters import resend
from tests.samples.splitter_scenario import (
    INBOX,
    PARTNER,
    SplitterScenario,
    interchange,
    properties_of,
    scenario,
)

__all__ = ["scenario"]

LONG = b"*ZZ*" + b"ACME".ljust(15) + b"*"


def from_long_name() -> bytes:
    """An interchange whose sender's name is longer than X12 allows, so that no acknowledgment can name it."""
    return interchange("x12").replace(LONG, b"*ZZ*A VERY LONG PARTNER NAME*", 1)


@pytest.mark.req("B10")
async def test_documents_are_taken_once_and_a_dead_letter_says_why_the_partner_is_not_told(
    scenario: SplitterScenario,
) -> None:
    await scenario.agree(on_envelope_error=OnEnvelopeError.PASS)
    session = await scenario.send(from_long_name())
    documents = await scenario.got(INBOX, 2)
    assert [properties_of(one)["document.reference"] for one in documents] == ["0001", "0002"]
    [letter] = await scenario.failures()
    assert letter.startswith(
        "interchange.unfit: the acknowledgment of interchange 000000001 cannot be written: receiver"
    )
    assert "its documents were accepted" in letter
    assert await scenario.has_nothing(PARTNER)
    history = await scenario.network.trace(session, None)
    assert "cannot be written" in str(history)


@pytest.mark.req("B10")
async def test_resending_the_letter_does_not_send_the_documents_again(scenario: SplitterScenario) -> None:
    await scenario.agree(on_envelope_error=OnEnvelopeError.PASS)
    await scenario.send(from_long_name())
    await scenario.got(INBOX, 2)
    await scenario.failures()
    await scenario.agree(answers_to="")
    jane = await scenario.person("jane@mybiz.example", "MyBiz")
    [letter] = await scenario.dead_letters(jane)
    await resend(scenario.network, jane, letter.id, "no acknowledgment")
    assert await scenario.has_nothing(INBOX)


async def test_a_refused_interchange_says_that_the_partner_cannot_be_told(scenario: SplitterScenario) -> None:
    await scenario.send(from_long_name())
    [letter] = await scenario.failures()
    assert letter.startswith("interchange.malformed: ")
    assert "cannot be written" in letter


async def test_a_request_is_answered_with_what_could_not_be_written(scenario: SplitterScenario) -> None:
    await scenario.agree(on_envelope_error=OnEnvelopeError.PASS)
    await scenario.send(from_long_name(), type=MessageType.REQUEST)
    [answer] = await scenario.network.poll(scenario.caller(PARTNER), PollRequest(wait_s=60.0))
    assert answer.status is None
    assert "cannot be written" in properties_of(answer)["splitter.unacknowledged"]
