"""Pages that list services stay pages, however many services there are."""

from __future__ import annotations

from pathlib import Path

from postroad.console.pages.rules import MAX_SHOWN
from postroad.console.pages.services import PAGE
from postroad.console.service_names import MAX_OFFERED
from postroad.core.model.directory import Service
from postroad.flow.registries.configuration import build_save
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import Inhabited, enter_all, inhabited

MANY = MAX_OFFERED + 10


async def _crowd(found: Inhabited) -> None:
    more = [Service(gcid=f"{number:016x}", organization=HOUSE, name=f"crowd-{number:04}") for number in range(MANY)]
    await found.running.network.configuration.change("tests", [build_save(one) for one in more])


async def test_lists_of_services_are_bounded_and_lead_to_all(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        await _crowd(found)
        viewer = (await enter_all(found))["viewer"]
        first, last = [(await viewer.get(f"/services?page={page}")).text for page in (0, 99)]
        assert first.count('<td><a href="/services/') == PAGE
        assert "crowd-0000" in first
        assert f"{HOUSE}/Weekly" in last
        rules = (await viewer.get("/rules")).text
        assert rules.count("crowd-") <= MAX_SHOWN
        assert "more services are not shown here" in rules
        messages = (await viewer.get(f"/messages?service={HOUSE}/Weekly")).text
        assert messages.count("<option") <= MAX_OFFERED + 20
        assert f"<option selected>{HOUSE}/Weekly" in messages
