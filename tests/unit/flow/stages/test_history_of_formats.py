"""What is found again of messages in external formats: in traces, in explanations, and in contents that people look at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.api.resources.message_views import status_view
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.mediation.model import Wire
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.history import HistoryEvent
from postroad.core.model.message import PostResult
from postroad.core.model.polling import PollRequest
from postroad.flow.administration.messages.contents import read_message
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.mediate import read_external_post
from postroad.testing.network import MemoryNetwork, memory_network

BUYER, ACME = "MyBiz/Purchasing", "Acme/Supply"
BODY = (
    b"--b\r\nContent-Type: application/xml\r\nContent-Language: de\r\n\r\n<order/>\r\n"
    b"--b\r\nContent-Type: application/pdf\r\nContent-ID: <pdf>\r\nContent-Disposition: inline\r\n\r\n%PDF\r\n--b--\r\n"
)
NEVER = {"equals": {"header": "topic", "value": "nothing"}}
FIELDS = [("content-type", "multipart/mixed; boundary=b"), ("postroad-to", ACME)]


class Posted:
    """A message of two parts in MIME, handed out in DIME; a rule was tried for it."""

    def __init__(self, running: MemoryNetwork, buyer: Caller, acme: Caller, session: str) -> None:
        self.network = running.network
        self.buyer = buyer
        self.acme = acme
        self.session = session

    async def events(self, organization: str) -> list[HistoryEvent]:
        history = await self.network.trace(self.session, organization)
        assert history is not None
        return history.messages[0].copies[0].stops[0].events


@pytest.fixture
async def posted() -> AsyncIterator[Posted]:
    async with memory_network() as running:
        buyer = await running.register(BUYER)
        acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="dime")
        assert acme.service is not None
        rule = RuleEntry.model_validate({"name": "r", "when": NEVER, "then": [{"addServiceBefore": BUYER}]})
        await running.network.configuration.change("test", [build_save(rule_of(rule, acme.service.gcid, 0))])
        answer = await running.network.carry_out(buyer, read_external_post(Wire(FIELDS, BODY)))
        assert isinstance(answer, PostResult)
        await running.network.poll_in_format(acme, PollRequest())
        yield Posted(running, buyer, acme, answer.session)


@pytest.mark.req("T9")
async def test_a_trace_tells_of_the_translation(posted: Posted) -> None:
    handed_out, translated = await posted.events("Acme")
    assert (handed_out.what, translated.what) == ("handed out", "translated")
    assert translated.detail.startswith(
        "from mime to dime; omitted: part pdf: that it is a document, not an attachment, cannot be"
    )
    [_, told] = await posted.events("MyBiz")
    assert told.detail == f"from mime to dime; {translated.detail.count(' cannot be represented ')} omitted"


async def test_the_state_of_a_message_is_told_by_its_last_move(posted: Posted) -> None:
    history = await posted.network.trace(posted.session, "MyBiz")
    assert history is not None
    [recipient] = status_view(history.messages[0]).recipients
    assert recipient["inWords"] == "waiting in the mailbox of Acme/Supply; last handed out"


async def test_the_explanation_behind_the_wrapping_is_read(posted: Posted) -> None:
    explanation = await posted.network.explanation(posted.session, "Acme")
    assert explanation is not None
    assert [(rule.name, rule.held) for service in explanation.services for rule in service.rules] == [("r", False)]


@pytest.mark.parametrize("name", ["buyer", "acme"])
async def test_contents_are_the_parts_and_nothing_that_lies_behind_them(posted: Posted, name: str) -> None:
    caller: Caller = getattr(posted, name)
    header, parts = await read_message(posted.network, caller, posted.session)
    assert header.arrival is not None
    assert header.arrival.wrapper_bytes > 0
    assert header.explained > 0
    assert [(part.id, part.data) for part in parts] == [("1", b"<order/>"), ("pdf", b"%PDF")]
    assert parts[0].headers == (("Content-Language", "de"),)
