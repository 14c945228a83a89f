"""Tariffs as operators see and write them: months as the books have them, and nothing written is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postroad.console.pages import tariffs
from postroad.core.model.billing import BillingSettings
from postroad.errors import Refused
from postroad.flow.registries.configuration import build_save
from tests.unit.console.inhabited import Inhabited, Visitor, enter_all, inhabited

TEXT = 'tariffs: {plain: [{from: "2026-01", currency: EUR, description: written with care}]}\n'


@pytest.fixture
async def found(tmp_path: Path) -> AsyncIterator[Inhabited]:
    async with inhabited(tmp_path) as network:
        yield network


async def seen(operator: Visitor) -> str:
    page = (await operator.get("/tariffs/edit")).text
    return page.partition('name="seen" value="')[2].partition('"')[0]


async def test_the_month_is_that_of_the_books(found: Inhabited) -> None:
    operator = (await enter_all(found))["operator"]
    await found.running.network.configuration.change(
        "tests", [build_save(BillingSettings(time_zone="Pacific/Kiritimati"))]
    )
    last_noon = datetime(
        datetime.now(UTC).year, 12, 31, 12, tzinfo=UTC
    )  # there it is two in the morning of January 1st
    found.clock.ahead_s = last_noon.timestamp() - found.clock.now_us() / 1_000_000
    await operator.log_in("operator@network.example")
    assert f"Tariffs in {last_noon.year + 1}-01" in (await operator.get("/tariffs")).text


async def test_what_is_written_stays_where_somebody_was_quicker(
    found: Inhabited, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def quicker(*_: Any, **__: Any) -> None:
        raise Refused("version.conflict", "Objects of this plan have changed; plan again, review, and apply")

    operator = (await enter_all(found))["operator"]
    monkeypatch.setattr(tariffs, "apply", quicker)
    answer = await operator.send("/tariffs/edit", {"text": TEXT, "seen": await seen(operator)})
    assert answer.status_code == 422
    assert "have changed; plan again" in answer.text
    assert "written with care" in answer.text
