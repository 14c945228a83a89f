"""Support requests: who reads them, whose turn it is, and that no word is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.support import SupportRequest, SupportState
from postroad.errors import Refused
from postroad.flow.administration import support as asking
from postroad.flow.administration.base import Administration
from postroad.testing.network import MemoryNetwork, memory_network

PART = (Part(id="1", content_type="text/plain", data=b"one order"),)


@dataclass(slots=True, kw_only=True)
class Desk:
    made: MemoryNetwork
    administration: Administration
    member: Caller
    stranger: Caller
    operator: Caller

    async def opened(self, **more: str) -> SupportRequest:
        wish = {"subject": "Where is it?", "text": "It did not arrive."} | more
        return await asking.open_request(self.administration, self.member, **wish)

    async def written(self, caller: Caller, request: str, text: str, *, close: bool = False) -> SupportRequest:
        return await asking.add_note(self.administration, caller, request, text, close=close)

    def read(self, caller: Caller) -> list[str]:
        return [one.id for one in asking.list_requests(caller, self.made.network.directory)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with memory_network() as made:
        yield Desk(
            made=made,
            administration=Administration(made.network, made.passwords),
            member=await made.enroll("ann@oak.example", organization="Oak"),
            stranger=await made.enroll("bob@ash.example", organization="Ash"),
            operator=await made.enroll("op@network.example", operator=True),
        )


async def refused(awaited: object) -> Refused:
    with pytest.raises(Refused) as found:
        await awaited  # type: ignore[misc]
    return found.value


async def test_a_support_request_is_read_by_its_organization_and_by_operators(desk: Desk) -> None:
    opened = await desk.opened()
    colleague = await desk.made.enroll("ada@oak.example", organization="OAK")
    assert [desk.read(one) for one in (desk.member, colleague, desk.operator)] == [[opened.id]] * 3
    assert desk.read(desk.stranger) == []
    for caller in (desk.stranger, await desk.made.register("Oak/Out")):
        assert (await refused(desk.written(caller, opened.id, "me too"))).code in ("not-found", "permission.denied")
    assert (await refused(desk.written(desk.operator, "nothing", "?"))).code == "not-found"


async def test_a_new_comment_passes_the_turn_and_reopens_a_closed_request(desk: Desk) -> None:
    opened = await desk.opened()
    states = [opened.state]
    for caller, text, close in (
        (desk.operator, "It waits.", False),
        (desk.member, "Why?", False),
        (desk.operator, " \r\n", True),  # closed without a word
        (desk.member, "It still waits.", False),
        (desk.member, "Thank you.", True),
    ):
        states.append((await desk.written(caller, opened.id, text, close=close)).state)
    word = SupportState
    assert states == [word.OPEN, word.ANSWERED, word.OPEN, word.CLOSED, word.OPEN, word.CLOSED]
    [found] = asking.list_requests(desk.member, desk.made.network.directory)
    assert [(note.by, note.operator, note.text) for note in found.notes[2:4]] == [
        ("ann@oak.example", False, "Why?"),
        ("op@network.example", True, "Closed."),
    ]


async def test_concurrent_comments_are_all_stored(desk: Desk) -> None:
    opened = await desk.opened()
    words = [f"word {number}" for number in range(10)]
    await asyncio.gather(*[desk.written(desk.member, opened.id, text) for text in words])
    [found] = asking.list_requests(desk.member, desk.made.network.directory)
    assert sorted(note.text for note in found.notes[1:]) == words


async def test_a_support_request_may_only_name_messages_that_its_author_sees(desk: Desk) -> None:
    sender, _ = await desk.made.register("Oak/Out"), await desk.made.register("Oak/In")
    message = Message(to=(Recipient("Oak/In"),), type=MessageType.NOTIFICATION, parts=PART)
    session = (await desk.made.network.post(sender, message)).session
    assert (await desk.opened(session=session)).session == session
    desk.member = desk.stranger
    for unseen in (session, "nothing", "f" * 32, "f" + "z" * 31):
        fault = await refused(desk.opened(session=unseen))
        assert (fault.code, fault.pointer) == ("not-found", "/session")


@pytest.mark.req("Z6")
async def test_open_support_requests_are_limited(desk: Desk) -> None:
    desk.administration.open_support_requests = 2
    first, _ = await desk.opened(), await desk.opened()
    await desk.written(desk.operator, first.id, "Look again.")
    assert (await refused(desk.opened())).code == "support.too-many"
    await asking.open_request(desk.administration, desk.stranger, "Mine", "Those of others do not count.")
    await desk.written(desk.member, first.id, "Found it.", close=True)
    await desk.opened()


async def test_words_are_there_and_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for wish, place in (
        ({"subject": " "}, "/subject"),
        ({"subject": "x" * (asking.SUBJECT_CHARS + 1)}, "/subject"),
        ({"text": ""}, "/text"),
        ({"text": "x" * (asking.TEXT_CHARS + 1)}, "/text"),
    ):
        assert (await refused(desk.opened(**wish))).pointer == place
    lines = "x\r\n" * (asking.TEXT_CHARS // 2)  # as browsers send what they have counted as just enough
    opened = await desk.opened(text=lines)
    assert (await refused(desk.written(desk.member, opened.id, "  "))).pointer == "/text"
    monkeypatch.setattr(asking, "MAX_NOTES", 2)
    await desk.written(desk.member, opened.id, "one more")
    assert "open another" in (await refused(desk.written(desk.member, opened.id, "and one"))).detail
    closed = await desk.written(desk.operator, opened.id, "", close=True)
    assert closed.state is SupportState.CLOSED, "one that is full can still be closed"
    assert "open another" in (await refused(desk.written(desk.member, opened.id, "and one"))).detail
    again = desk.written(desk.operator, opened.id, "", close=True)
    assert "open another" in (await refused(again)).detail
    desk.member = desk.operator
    assert (await refused(desk.opened())).code == "permission.denied"
