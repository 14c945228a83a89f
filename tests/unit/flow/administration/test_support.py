"""Support requests: who reads them, whose turn it is, and that no word is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.support import SupportRequest, SupportState
from postroad.flow.administration import support as asking
from postroad.testing import Scenario


class SupportScenario(Scenario):
    """A network with a member, a member of another organization, and an operator."""

    member: Caller
    stranger: Caller
    operator: Caller

    async def open(self) -> None:
        await super().open()
        self.member = await self.person("ann@oak.example", "Oak")
        self.stranger = await self.person("bob@ash.example", "Ash")
        self.operator = await self.person("op@network.example", operator=True)

    async def opened(self, **more: str) -> SupportRequest:
        wish = {"subject": "Where is it?", "text": "It did not arrive."} | more
        return await asking.open_request(self.administration, self.member, **wish)

    async def written(self, caller: Caller, request: str, text: str, *, close: bool = False) -> SupportRequest:
        return await asking.add_note(self.administration, caller, request, text, close=close)

    def read(self, caller: Caller) -> list[str]:
        return [one.id for one in asking.list_requests(caller, self.network.directory)]


@pytest.fixture
async def scenario() -> AsyncIterator[SupportScenario]:
    async with SupportScenario() as opened:
        yield opened


async def test_a_support_request_is_read_by_its_organization_and_by_operators(scenario: SupportScenario) -> None:
    opened = await scenario.opened()
    colleague = await scenario.person("ada@oak.example", "OAK")
    assert [scenario.read(one) for one in (scenario.member, colleague, scenario.operator)] == [[opened.id]] * 3
    assert scenario.read(scenario.stranger) == []
    for caller in (scenario.stranger, await scenario.service("Oak/Out")):
        assert (await scenario.refusal(scenario.written(caller, opened.id, "me too"))).code in (
            "not-found",
            "permission.denied",
        )
    assert (await scenario.refusal(scenario.written(scenario.operator, "nothing", "?"))).code == "not-found"


async def test_a_new_comment_passes_the_turn_and_reopens_a_closed_request(scenario: SupportScenario) -> None:
    opened = await scenario.opened()
    states = [opened.state]
    for caller, text, close in (
        (scenario.operator, "It waits.", False),
        (scenario.member, "Why?", False),
        (scenario.operator, " \r\n", True),  # closed without a word
        (scenario.member, "It still waits.", False),
        (scenario.member, "Thank you.", True),
    ):
        states.append((await scenario.written(caller, opened.id, text, close=close)).state)
    word = SupportState
    assert states == [word.OPEN, word.ANSWERED, word.OPEN, word.CLOSED, word.OPEN, word.CLOSED]
    [found] = asking.list_requests(scenario.member, scenario.network.directory)
    assert [(note.by, note.operator, note.text) for note in found.notes[2:4]] == [
        ("ann@oak.example", False, "Why?"),
        ("op@network.example", True, "Closed."),
    ]


async def test_concurrent_comments_are_all_stored(scenario: SupportScenario) -> None:
    opened = await scenario.opened()
    words = [f"word {number}" for number in range(10)]
    await asyncio.gather(*[scenario.written(scenario.member, opened.id, text) for text in words])
    [found] = asking.list_requests(scenario.member, scenario.network.directory)
    assert sorted(note.text for note in found.notes[1:]) == words


async def test_a_support_request_may_only_name_messages_that_its_author_sees(scenario: SupportScenario) -> None:
    for name in ("Oak/Out", "Oak/In"):
        await scenario.service(name)
    session = (await scenario.post("Oak/Out", to="Oak/In", document="one order")).session
    assert (await scenario.opened(session=session)).session == session
    scenario.member = scenario.stranger
    for unseen in (session, "nothing", "f" * 32, "f" + "z" * 31):
        fault = await scenario.refusal(scenario.opened(session=unseen))
        assert (fault.code, fault.pointer) == ("not-found", "/session")


@pytest.mark.req("Z6")
async def test_open_support_requests_are_limited(scenario: SupportScenario) -> None:
    scenario.administration.open_support_requests = 2
    first, _ = await scenario.opened(), await scenario.opened()
    await scenario.written(scenario.operator, first.id, "Look again.")
    assert (await scenario.refusal(scenario.opened())).code == "support.too-many"
    await asking.open_request(scenario.administration, scenario.stranger, "Mine", "Those of others do not count.")
    await scenario.written(scenario.member, first.id, "Found it.", close=True)
    await scenario.opened()


async def test_words_are_there_and_bounded(scenario: SupportScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    for wish, place in (
        ({"subject": " "}, "/subject"),
        ({"subject": "x" * (asking.SUBJECT_CHARS + 1)}, "/subject"),
        ({"text": ""}, "/text"),
        ({"text": "x" * (asking.TEXT_CHARS + 1)}, "/text"),
    ):
        assert (await scenario.refusal(scenario.opened(**wish))).pointer == place
    lines = "x\r\n" * (asking.TEXT_CHARS // 2)  # as browsers send what they have counted as just enough
    opened = await scenario.opened(text=lines)
    assert (await scenario.refusal(scenario.written(scenario.member, opened.id, "  "))).pointer == "/text"
    monkeypatch.setattr(asking, "MAX_NOTES", 2)
    await scenario.written(scenario.member, opened.id, "one more")
    assert "open another" in (await scenario.refusal(scenario.written(scenario.member, opened.id, "and one"))).detail
    closed = await scenario.written(scenario.operator, opened.id, "", close=True)
    assert closed.state is SupportState.CLOSED, "one that is full can still be closed"
    assert "open another" in (await scenario.refusal(scenario.written(scenario.member, opened.id, "and one"))).detail
    again = scenario.written(scenario.operator, opened.id, "", close=True)
    assert "open another" in (await scenario.refusal(again)).detail
    scenario.member = scenario.operator
    assert (await scenario.refusal(scenario.opened())).code == "permission.denied"
