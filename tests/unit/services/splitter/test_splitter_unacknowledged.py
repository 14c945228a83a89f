"""An acknowledgment that cannot be written: the documents are taken once, and the owner has a dead letter that says so."""

from __future__ import annotations

import pytest

from postroad.core.model.batch_policy import OnEnvelopeError
from postroad.core.model.message import MessageType
from postroad.core.model.polling import PollRequest
from postroad.flow.administration.dead_letters import DeadLetterSearch, browse, resend
from tests.samples.splitting_house import House, house, interchange, told

__all__ = ["house"]

LONG = b"*ZZ*" + b"ACME".ljust(15) + b"*"


def from_long_name() -> bytes:
    """An interchange whose sender's name is longer than X12 allows, so that no acknowledgment can name it."""
    return interchange("x12").replace(LONG, b"*ZZ*A VERY LONG PARTNER NAME*", 1)


@pytest.mark.req("B10")
async def test_documents_are_taken_once_and_a_dead_letter_says_why_the_partner_is_not_told(house: House) -> None:
    await house.agree(on_envelope_error=OnEnvelopeError.PASS)
    session = await house.send(from_long_name())
    documents = await house.got("inbox", 2)
    assert [told(one)["document.reference"] for one in documents] == ["0001", "0002"]
    [letter] = await house.letters()
    assert letter.startswith(
        "interchange.unfit: the acknowledgment of interchange 000000001 cannot be written: receiver"
    )
    assert "its documents were accepted" in letter
    assert await house.has_nothing("acme")
    history = await house.network.trace(session, None)
    assert "cannot be written" in str(history)


@pytest.mark.req("B10")
async def test_resending_the_letter_does_not_send_the_documents_again(house: House) -> None:
    await house.agree(on_envelope_error=OnEnvelopeError.PASS)
    await house.send(from_long_name())
    await house.got("inbox", 2)
    await house.letters()
    await house.agree(answers_to="")
    jane = await house.running.enroll("jane@mybiz.example", organization="MyBiz")
    [found] = (await browse(house.network, jane, DeadLetterSearch())).found
    await resend(house.network, jane, found.letter.id, "no acknowledgment")
    assert await house.has_nothing("inbox")


async def test_a_refused_interchange_says_that_the_partner_cannot_be_told(house: House) -> None:
    await house.send(from_long_name())
    [letter] = await house.letters()
    assert letter.startswith("interchange.malformed: ")
    assert "cannot be written" in letter


async def test_a_request_is_answered_with_what_could_not_be_written(house: House) -> None:
    await house.agree(on_envelope_error=OnEnvelopeError.PASS)
    await house.send(from_long_name(), type=MessageType.REQUEST)
    [answer] = await house.network.poll(house.callers["acme"], PollRequest(wait_s=60.0))
    assert answer.status is None
    assert "cannot be written" in told(answer)["splitter.unacknowledged"]
