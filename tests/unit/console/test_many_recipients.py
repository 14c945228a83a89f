"""A message to very many is shown as any other: in a moment, and no longer than a page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from postroad.console.pages.messages import MAX_COPIES
from postroad.console.template_filters import join_names
from postroad.core.model.directory import Service
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.registries.configuration import build_save
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import Inhabited, enter_all, inhabited

MANY = 600


async def _broadcast(found: Inhabited) -> str:
    """One message to a crowd."""
    crowd = [Service(gcid=f"{number:016x}", organization=HOUSE, name=f"crowd-{number}") for number in range(MANY)]
    await found.running.network.configuration.change("tests", [build_save(one) for one in crowd])
    to = tuple(Recipient(one.address) for one in crowd)
    message = Message(to=to, parts=(Part(id="1", content_type="text/xml", data=b"<order/>"),))
    posted = await found.running.network.post(found.service(f"{HOUSE}/Buyer"), message)
    return posted.session


@pytest.mark.req("C2")
async def test_pages_about_a_message_to_many_are_bounded(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        session = await _broadcast(found)
        viewer = (await enter_all(found))["viewer"]
        page = (await viewer.get(f"/messages/{session}")).text
        assert f"{MANY} recipients: " in page
        assert f"{MANY} waiting" in page
        assert page.count('class="card where"') == MAX_COPIES
        for picture in ("route.svg", "life.svg"):
            assert len((await viewer.get(f"/messages/{session}/{picture}")).content) < 100_000
        begun = time.process_time()
        for listed in ("/", "/messages", "/messages?box=sent", "/messages?topic=nothing"):
            assert len((await viewer.get(listed)).content) < 100_000
        assert time.process_time() - begun < 10


def test_of_many_names_a_few_are_told() -> None:
    assert join_names([]) == ""
    assert join_names(["a", "b"]) == "a, b"
    assert join_names([str(one) for one in range(2_000)]) == "0, 1, 2, 3, 4 and 1,995 more"
