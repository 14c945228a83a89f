"""Batches in the console: all their members, page by page, and what can be done with one that nobody gathers any more."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from postroad.console.form_values import parse_number
from postroad.core.model.asset import Hosting
from postroad.flow.registries.configuration import build_save
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import Inhabited, Visitor, enter_all, inhabited
from tests.waiting import eventually_async

WHO = "developer"
SESSION = re.compile(r'href="/messages/([0-9a-f]{32})"')
NEXT = re.compile(r'href="(\?after=[0-9]+)"')


def test_numbers_are_read_up_to_the_largest_there_are() -> None:
    assert [parse_number(text) for text in ("0", "7", str((1 << 63) - 1))] == [0, 7, (1 << 63) - 1]
    assert [parse_number(text) for text in ("", "-1", "1.5", "٣", str(1 << 63), "9" * 5_000)] == [None] * 6


@pytest.mark.req("C1")
async def test_the_members_of_a_batch_are_all_there_page_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.console.pages.batches.MEMBERS", 1)
    async with inhabited(tmp_path) as found:
        person, here = (await enter_all(found))[WHO], found.place("/batches/{batch}", WHO)
        posted = {await found.post(f"{HOUSE}/Buyer", f"{HOUSE}/Port-{WHO}") for _ in range(2)}
        await until_joined(found, posted)
        seen: set[str] = set()
        page = (await person.get(here)).text
        for _ in range(10):
            seen.update(SESSION.findall(page))
            if (following := NEXT.search(page)) is None:
                break
            page = (await person.get(here + following[1])).text
        assert posted <= seen
        assert SESSION.search(page) is not None, "there is no page after the last"


async def test_a_batch_that_nobody_gathers_any_more_can_be_dropped_and_nothing_else(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        person, here = (await enter_all(found))[WHO], found.place("/batches/{batch}", WHO)
        assert offered(person, (await person.get(here)).text) == {"release", "pause"}
        service = found.running.network.directory.services[found.gcid(f"{HOUSE}/Port-{WHO}")]
        former = replace(service, hosted=Hosting.NONE, batching=None)
        await found.running.network.configuration.change("test", [build_save(former)])
        assert offered(person, (await person.get(here)).text) == {"drop"}
        dropped = await person.send(f"{here}/drop", {"reason": "the partner has left us"})
        assert dropped.status_code == 303
        assert offered(person, (await person.get(here)).text) == set()


def offered(person: Visitor, page: str) -> set[str]:
    return set(re.findall(r'formaction="/batches/[0-9a-f]+/([a-z-]+)"', page))


async def until_joined(found: Inhabited, sessions: set[str]) -> None:
    async def all_joined() -> bool:
        return all([await joined(found, session) for session in sessions])

    await eventually_async(all_joined)


async def joined(found: Inhabited, session: str) -> bool:
    await found.running.network.wait_until_indexed()
    [row] = await found.running.network.index.query("message", session)
    return await found.running.network.batches.of_delivery(row[0] << 16) is not None
