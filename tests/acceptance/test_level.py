"""The network's level: who may see and raise it, and what a node does that cannot read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from postroad import __version__
from postroad.bootstrap import open_network, read_settings
from postroad.client import Client
from postroad.core.model.level import NEWEST, NetworkLevel
from postroad.errors import Refused
from postroad.flow.registries.configuration import build_save
from postroad.testing.server import ServerDidNotStart, ServerProcess
from tests.samples.enrolled_parties import enroll
from tests.waiting import eventually_async

LEVEL = "/v1/level"
LATER = "needs postroad 9.9 or later"


def stores(kind: str, dsn: str) -> dict[str, object]:
    shared: dict[str, object] = {"acceptance": "shared", "index": "postgres", "postgres": dsn, "secret": "5e" * 32}
    return shared if kind == "shared" else {}


async def raise_beyond(server: ServerProcess, data: Path) -> None:
    """Raise the network to a level of a later version."""
    overrides: dict[str, Any] = {name: str(value) for name, value in server.settings.items()}
    settings = read_settings(file=Path(os.devnull), environment={}, overrides=overrides | {"data": str(data)})
    async with open_network(settings) as running:
        change = build_save(NetworkLevel(level=NEWEST + 1, release="9.9"))
        await running.network.configuration.change("test", [change])


@pytest.mark.req("O7")
@pytest.mark.parametrize("kind", ["embedded", "shared"])
async def test_a_node_that_cannot_read_the_level_does_not_start(
    tmp_path: Path, kind: str, postgres_database: str
) -> None:
    server = ServerProcess(tmp_path / "data", stores(kind, postgres_database))
    await enroll(server, "MyBiz/Purchasing")
    await raise_beyond(server, server.data)
    with pytest.raises(ServerDidNotStart, match=LATER):
        server.start()
    assert "Traceback" not in server.log


@pytest.mark.req("O7")
async def test_an_operator_sees_and_raises_the_level(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    keys = await enroll(server, "MyBiz/Purchasing")
    with (
        server,
        Client(server.url, server.operator_key) as operator,
        Client(server.url, keys["MyBiz/Purchasing"]) as other,
    ):
        found = operator.get(LEVEL)
        [node] = found["nodes"]
        assert (found["level"], found["newest"], found["obstacles"]) == (NEWEST, NEWEST, [])
        assert (node["version"], node["level"]) == (__version__, NEWEST)
        assert operator.change("POST", LEVEL, {})["level"] == NEWEST, "nothing to do is no error"
        for level, why in ((NEWEST - 1, "never lowered"), (NEWEST + 1, f"reads up to level {NEWEST}")):
            with pytest.raises(Refused, match=why):
                operator.change("POST", LEVEL, {"level": level})
        with pytest.raises(Refused, match=r"permission\.denied"):
            other.get(LEVEL)
        with pytest.raises(Refused, match=r"permission\.denied"):
            other.change("POST", LEVEL, {})


@pytest.mark.req("O7")
async def test_a_running_node_stops_when_the_level_is_raised_beyond_it(tmp_path: Path, postgres_database: str) -> None:
    server = ServerProcess(tmp_path / "one", stores("shared", postgres_database))
    with server:
        await raise_beyond(server, tmp_path / "two")
        await eventually_async(lambda: not server.is_running)
    assert LATER in server.log
    assert "Traceback" not in server.log
