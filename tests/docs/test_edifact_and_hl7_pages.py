"""The pages on EDIFACT and HL7 know every fault and every fact of an envelope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from postroad.core.interchange.edifact import EdifactDelimiters
from postroad.core.interchange.edifact.acknowledgements import CODES
from postroad.core.interchange.edifact.envelopes import WIDTHS
from postroad.core.interchange.hl7 import Separators

ROOT = Path(__file__).parents[2]
READ_ONLY = {"encoding", "batch"}  # told of what came


def page_and_code(name: str) -> tuple[str, str]:
    room = ROOT / "src" / "postroad" / "core" / "interchange" / name
    code = "".join(path.read_text() for path in sorted(room.glob("*.py")))
    return (ROOT / "docs" / "reference" / f"{name}.md").read_text(), code


@pytest.mark.docs
@pytest.mark.parametrize("name", ["edifact", "hl7"])
def test_every_fault_is_on_the_page_and_no_other(name: str) -> None:
    page, code = page_and_code(name)
    faults = set(re.findall(rf'"({name}\.[a-z]+)"', code))
    assert faults
    assert set(re.findall(rf"`({name}\.[a-z]+)`", page)) == faults


@pytest.mark.docs
def test_partners_are_told_of_every_fault() -> None:
    _, code = page_and_code("edifact")
    assert set(CODES) == set(re.findall(r'"(edifact\.[a-z]+)"', code))


@pytest.mark.docs
@pytest.mark.parametrize(
    ("name", "more"),
    [("edifact", {*EdifactDelimiters().facts(), *WIDTHS} - {"sender", "receiver"}), ("hl7", set(Separators().facts()))],
)
def test_every_fact_of_an_envelope_is_on_the_page(name: str, more: set[str]) -> None:
    page, code = page_and_code(name)
    asked = set(re.findall(r'facts\.get\("([a-z_]+)"', code)) | more
    assert {fact for fact in asked - READ_ONLY if f"`{to_camel(fact)}`" not in page} == set()
