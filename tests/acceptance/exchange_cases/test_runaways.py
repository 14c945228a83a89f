"""A query that does not end costs its own binding its messages, and nobody else theirs."""

from __future__ import annotations

import pytest

from postroad.adapters.confined.pool import KILLS_ALLOWED
from tests.acceptance.exchange_cases.hall import open_hall

ENDLESS = "declare function local:f($n) { if ($n lt 0) then 0 else local:f($n + 1) }; local:f(count(/order))"
MADE = "<id>{ string(/order/id) }</id>"
ORDER = "<order><id>7</id></order>"
DEADLINE_S = 1.0


@pytest.mark.req("X4", "Z2")
async def test_a_query_without_end_is_stopped_told_and_then_no_more_asked() -> None:
    """Those beside it, asked of the same engine or decided without it, get every message."""
    async with open_hall(deadline_s=DEADLINE_S) as hall:
        endless = await hall.bind("Endless", ENDLESS)
        await hall.bind("Made", MADE)
        await hall.bind("Shared", "/order/id = 7")
        messages = KILLS_ALLOWED + 2
        for _ in range(messages):
            assert await hall.send(ORDER) == 2
        assert await hall.taken("Made") == ["<id>7</id>"] * messages
        assert await hall.taken("Shared") == [ORDER] * messages
        tally = await hall.tally(endless)
        assert (tally.errors, tally.matched) == (messages, 0)
        assert "was stopped" in tally.last_error
