"""The page on X12 knows every fault and every fact of an envelope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from postroad.core.interchange.x12 import acknowledgement_codes, envelopes
from postroad.core.interchange.x12.delimiters import X12Delimiters

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "x12.md").read_text()
ROOM = ROOT / "src" / "postroad" / "core" / "interchange" / "x12"
CODE = "".join(path.read_text() for path in sorted(ROOM.glob("*.py")))


@pytest.mark.docs
def test_every_fault_is_on_the_page_and_no_other() -> None:
    assert set(re.findall(r"`(x12\.[a-z]+)`", PAGE)) == set(re.findall(r'"(x12\.[a-z]+)"', CODE))
    told = acknowledgement_codes.INTERCHANGE_CODES | acknowledgement_codes.GROUP_CODES | acknowledgement_codes.SET_CODES
    assert set(told) == set(re.findall(r'"(x12\.[a-z]+)"', CODE)), "partners are told of every fault"


@pytest.mark.docs
def test_every_fact_of_an_envelope_is_on_the_page() -> None:
    asked = set(re.findall(r'facts\.get\("([a-z_]+)"', CODE)) | set(X12Delimiters().facts())
    asked |= {name for name, _ in envelopes._ISA_NAMES} - {"sender", "receiver"}
    read_only = {"ta1", "implementation", "included", "date", "time"}  # told of what came
    assert {name for name in asked - read_only if f"`{to_camel(name)}`" not in PAGE} == set()
