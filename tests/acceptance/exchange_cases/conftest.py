"""The hall in which the cases of exchanges happen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.acceptance.exchange_cases.hall import Hall, open_hall


@pytest.fixture
async def hall() -> AsyncIterator[Hall]:
    async with open_hall() as opened:
        yield opened
