"""Routings of the operator are found by the setting that names them; whatever is wrong with one ends the start, with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from postroad.bootstrap.routings import load_routings
from postroad.bootstrap.running_network import open_network
from postroad.bootstrap.settings import Settings
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.errors import Misconfigured
from postroad.ports import ItemValue

HERE = "tests.unit.bootstrap.test_routings"


def is_rush(content: bytes, media_type: str, items: Mapping[str, ItemValue]) -> bool:
    return items.get("rush") is True


NOT_A_FUNCTION = 1


@pytest.mark.req("X4")
async def test_a_network_knows_the_routings_that_its_operator_has_named(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, index="memory", least_free_bytes=0, routings=(f"rush = {HERE}:is_rush",))
    async with open_network(settings) as running:
        assert running.network.exchanges.callables == {"rush"}
        judge = running.engines.judges[DeciderLanguage.CALLABLE]
        verdicts = [await judge.evaluate(["rush"], b"", "text/plain", {"rush": rush}) for rush in (True, False)]
        assert [one.goes for [one] in verdicts] == [True, False]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("rush", "write name=package.module:function"),
        ("rush=no.such.module:it", "No module named"),
        (f"rush={HERE}:no_such_function", "no_such_function"),
        (f"rush={HERE}:NOT_A_FUNCTION", "not a function"),
        (f"={HERE}:is_rush", "needs a name"),
    ],
)
def test_what_is_wrong_with_one_is_told(setting: str, told: str) -> None:
    with pytest.raises(Misconfigured, match=told):
        load_routings([f"good={HERE}:is_rush", setting])


def test_a_name_stands_for_one_function() -> None:
    with pytest.raises(Misconfigured, match="is repeated"):
        load_routings([f"rush={HERE}:is_rush", f"rush={HERE}:is_rush"])
