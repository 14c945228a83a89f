"""The town in which the routing cases happen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.samples.town import Town, open_town


@pytest.fixture
async def town() -> AsyncIterator[Town]:
    async with open_town() as opened:
        yield opened
