"""What pages say about who acted, about money, and about what is not there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from postroad.adapters.marts import tables as marts
from postroad.console.service_names import add_actor_addresses
from postroad.core.model.billing import DocumentKind, Invoice
from postroad.core.model.exchange import Binding
from postroad.flow.administration import bindings
from postroad.flow.administration.versions import ConfigurationVersion
from postroad.flow.live.view import MAX_ROWS
from postroad.flow.registries.configuration import build_save
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import Inhabited, Visitor, enter_all, inhabited


@pytest.fixture
async def found(tmp_path: Path) -> AsyncIterator[Inhabited]:
    async with inhabited(tmp_path) as made:
        yield made


@pytest.mark.req("C2", "N13")
async def test_a_service_that_acted_is_named_by_its_address(found: Inhabited) -> None:
    people, exchange, desk = await enter_all(found), found.gcid(f"{HOUSE}/Orders"), found.gcid(f"{HOUSE}/Desk")
    wish = Binding(exchange=exchange, name="by itself", queue=desk)
    await bindings.bind(found.administration, found.service(f"{HOUSE}/Desk"), wish)
    page = (await people["viewer"].get(f"/exchanges/{exchange}/bindings/by%20itself")).text
    versions = page[page.index("<h2>Versions</h2>") :]
    assert f"<td>{HOUSE}/Desk<br>" in versions
    audit = (await people["operator"].get("/operators/audit")).text
    assert f"<td>{HOUSE}/Desk</td>" in audit
    assert f"<td>{desk}</td>" not in audit


async def test_a_service_that_the_reader_may_not_know_keeps_its_gcid(found: Inhabited) -> None:
    shop = found.gcid(f"{HOUSE}/Shop")
    version = ConfigurationVersion(version=1, at_us=1, by=shop, reason="", value=None, before=None)
    directory = found.running.network.directory
    [told] = add_actor_addresses(found.person("owner@stranger.example"), directory, [version])
    assert told.by == shop
    [told] = add_actor_addresses(found.person("viewer@workshop.example"), directory, [version])
    assert told.by == f"{HOUSE}/Shop"


async def test_what_happened_once_is_not_told_in_the_plural(found: Inhabited) -> None:
    viewer, exchange = (await enter_all(found))["viewer"], found.gcid(f"{HOUSE}/Orders")
    await found.post(f"{HOUSE}/Buyer", f"{HOUSE}/Orders")
    page = ""
    for _ in range(200):
        page = (await viewer.get(f"/exchanges/{exchange}/bindings/bound-viewer")).text
        if "<dd>0 times" not in page[page.index("Matched") : page.index("Failed")]:
            break
        await found.fetch(f"{HOUSE}/Desk")
    assert "<dt>Matched</dt><dd>once, last " in page
    assert "1 times" not in page


async def test_more_than_was_owed_is_a_credit(found: Inhabited) -> None:
    owner = (await enter_all(found))["owner"]
    note = Invoice(
        number="2026-8", document=DocumentKind.CREDIT_NOTE, organization=HOUSE, period="2026-09", currency="EUR",
        issued_on=date(2026, 10, 2), due_on=date(2026, 10, 31), seller="Network", through=17, tariffs={}, lines=(),
        total=Decimal("-0.13"), corrects=found.places["invoice"],
    )  # fmt: skip
    await found.running.network.configuration.change("tests", [build_save(note)])
    row = next(one for one in _rows((await owner.get("/billing")).text) if found.places["invoice"] in one)
    assert '<span class="state">credit</span>' in row
    assert ">0.00<" in row
    page = (await owner.get(f"/billing/invoices/{found.places['invoice']}")).text
    assert "0.12 credit" in page
    assert "settled" not in row + page
    assert "the total is the sum of the rounded lines" in page


async def test_the_live_page_lists_the_newest_events_and_counts_the_others(found: Inhabited) -> None:
    viewer = (await enter_all(found))["viewer"]
    for number in range(MAX_ROWS):
        await found.post(f"{HOUSE}/Buyer", f"{HOUSE}/Shop", topic=f"live-{number}")
    page = await _until(viewer, "/live", f"live-{MAX_ROWS - 1}")
    topics = re.findall(r"<td>live-(\d+)</td>", page)
    assert topics == sorted(topics, key=int, reverse=True)
    assert re.search(r"[\d,]+ earlier events are not listed\.", page)


@pytest.mark.parametrize("path", ["/reports/usage", "/billing"])
async def test_without_the_extra_operators_read_how_to_install_it_and_members_do_not(
    found: Inhabited, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    people = await enter_all(found)
    monkeypatch.setattr(marts, "find_spec", lambda name: None)
    page = (await people["operator"].get(path)).text
    install, run = page.index("pip install &#39;.[warehouse]&#39;"), page.index("postroad pipeline run")
    assert install < run
    page = (await people["owner"].get(path)).text
    assert "The network's operators set up the warehouse." in page
    assert "pip install" not in page


async def test_the_what_if_form_says_what_a_change_resets(found: Inhabited) -> None:
    page = (await (await enter_all(found))["operator"].get("/whatif")).text
    assert "omitted fields of a named object are reset to their defaults" in page
    assert "stays as it is" not in page


async def _until(visitor: Visitor, path: str, text: str) -> str:
    for _ in range(200):
        if text in (page := (await visitor.get(path)).text):
            return page
    raise AssertionError(f"{path} does not show {text}")


def _rows(page: str) -> list[str]:
    return re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
