"""Lists of messages tell what has become of each, be it received or sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroad.core.model.message import Message, Part, Recipient
from tests.console.workshop import HOUSE
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
            await found.running.network.fail(delivered, "tests make it fail")
        newest = STATES.findall((await viewer.get("/messages?box=sent")).text)
        assert newest[:2] == ["1 waiting", "1 failed"]
        home = (await viewer.get("/")).text
        assert "1 failed" in STATES.findall(home)
        sessions = re.findall(r'href="/messages/([0-9a-f]{32})"', home)
        assert len(sessions) == len(set(sessions)) > 1, "what was sent within the organization is told once"
