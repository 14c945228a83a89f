"""Lists of messages tell what has become of each, be it received or sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.flow.administration.messages.search import find
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import enter_all, inhabited

STATES = re.compile(r'<span class="state [^"]*">([^<]*)</span>')


@pytest.mark.req("C2")
async def test_a_list_of_what_was_sent_tells_what_became_of_it(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        viewer = (await enter_all(found))["viewer"]
        for page in ("/messages?box=sent", "/messages?box=received"):
            told = set(STATES.findall((await viewer.get(page)).text))
            assert {"failed", "waiting"} <= told, page
        to = (Recipient(f"{HOUSE}/Desk"), Recipient(f"{HOUSE}/Shop"))
        message = Message(to=to, parts=(Part(id="1", content_type="text/xml", data=b"<order/>"),))
        await found.running.network.post(found.service(f"{HOUSE}/Buyer"), message)
        for delivered in await found.fetch(f"{HOUSE}/Shop"):
            await found.running.network.fail(delivered, make_reason("other", detail="tests make it fail"))
        newest = STATES.findall((await viewer.get("/messages?box=sent")).text)
        assert newest[:2] == ["1 waiting", "1 failed"]
        home = (await viewer.get("/")).text
        assert "1 failed" in STATES.findall(home)
        sessions = re.findall(r'href="/messages/([0-9a-f]{32})"', home)
        assert len(sessions) == len(set(sessions)) > 1, "what was sent within the organization is told once"


@pytest.mark.req("C2")
async def test_every_page_has_the_same_word_for_the_state_of_a_message(tmp_path: Path) -> None:
    """An answered request whose answer still waits, and a message that waits."""
    async with inhabited(tmp_path) as found:
        viewer, buyer = (await enter_all(found))["viewer"], f"{HOUSE}/Buyer"
        request = await found.post(buyer, f"{HOUSE}/Desk", type=MessageType.REQUEST, handle="asked-1", topic="asked")
        asked = next(one for one in await found.fetch(f"{HOUSE}/Desk") if one.handle == "asked-1")
        answer = Message(type=MessageType.RESPONSE, reference=asked.token, topic="asked")
        response = (await found.running.network.post(found.service(f"{HOUSE}/Desk"), answer)).session
        for session, state in ((request, "delivered"), (response, "waiting")):
            page = (await viewer.get(f"/messages/{session}")).text
            assert set(STATES.findall(page)) == {state}, "at the top, and at each stop"
            assert next(_states(await viewer.get("/"), session)) == state
            for box in ("sent", "received"):
                listed = await viewer.get(f"/messages?box={box}&topic=asked")
                assert list(_states(listed, session)) == [state]
            for who in (found.service(buyer), found.person("viewer@workshop.example")):
                [one] = (await find(found.running.network, who, session)).things
                assert getattr(one, "state", None) == state


def _states(answer: httpx2.Response, session: str) -> Iterator[str]:
    """States in the rows of a table that lead to a message."""
    for row in re.findall(r"<tr>.*?</tr>", answer.text, re.DOTALL):
        if session in row:
            yield from STATES.findall(row)
