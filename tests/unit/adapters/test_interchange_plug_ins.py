"""Standards from installed packages: found by entry point, and never half."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.core.interchange.standard import BUILT_IN, PLUG_INS
from postroad.errors import Misconfigured


def named(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=PLUG_INS)


@pytest.mark.req("B9")
def test_an_installed_standard_is_found_by_its_entry_point() -> None:
    catalogue = load_catalogue([named("shouting", "tests.unit.core.interchange.test_catalogue:SHOUTING")])
    assert catalogue.standard("shouting").title == "All capitals"
    assert len(list(catalogue)) == len(list(BUILT_IN)) + 1


def test_without_plug_ins_there_is_what_is_built_in() -> None:
    assert {one.name for one in load_catalogue()} >= {one.name for one in BUILT_IN}


def test_every_fault_is_told_at_once() -> None:
    broken = [
        named("gone", "no.such.module:THING"),
        named("loud", "tests.unit.core.interchange.test_catalogue:SHOUTING"),
        named("number", "tests.samples.x12:NOON"),
    ]
    with pytest.raises(Misconfigured) as misconfigured:
        load_catalogue(broken)
    gone, loud, number = misconfigured.value.faults
    assert "cannot be loaded: ModuleNotFoundError" in gone
    assert "its name is 'shouting'" in loud
    assert "a int, and not a Standard" in number
