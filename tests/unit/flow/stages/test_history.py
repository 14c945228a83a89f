"""The history of a transaction with more entries than are read."""

from __future__ import annotations

import pytest

from postroad.core.model.message import MessageType
from postroad.flow.stages import history as reading
from postroad.testing import Scenario

PLACES = 4


@pytest.mark.req("A2")
async def test_old_tries_are_left_out_before_what_became_of_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Scenario() as scenario:
        names = [f"A/in {number}" for number in range(PLACES)]
        for name in ("A/out", *names):
            await scenario.service(name)
        posted = await scenario.post("A/out", to=names, type=MessageType.NOTIFICATION)
        for settle in (scenario.return_to_queue, scenario.return_to_queue, scenario.acknowledge):
            for name in names:
                await settle(await scenario.receive(name))
        monkeypatch.setattr(reading, "MAX_ENTRIES", 2 * PLACES)  # the last hand-outs, and what became of them
        assert [copy.state for copy in await scenario.copies(posted)] == ["delivered"] * PLACES
