"""The page on interchanges knows every standard with what it can do, every fault, and every fact of an envelope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from postroad.core.interchange.standard import BUILT_IN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "interchanges.md").read_text()
ROOM = ROOT / "src" / "postroad" / "core" / "interchange"
PATHS = [path for name in ("swift", "xml_wrapper", "flat") for path in sorted((ROOM / name).glob("*.py"))]
CODE = "".join(path.read_text() for path in [*PATHS, ROOM / "json_lines.py"])
FAULT = r"(?:swift|iso20022|gs1|xml|flat|json_lines)\.[a-z_]+"

pytestmark = pytest.mark.docs


def test_every_standard_is_on_the_page_with_what_it_can_do() -> None:
    rows = re.findall(r"^\| `([a-z0-9_]+)` \| (\S+) \| (\S+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    told = {name: [not cell.startswith("no") for cell in cells] for name, *cells in rows}
    able = ("split", "assemble", "acknowledge", "match")
    assert told == {one.name: [what in one.abilities for what in able] for one in BUILT_IN}


def test_every_fault_is_on_the_page_and_no_other() -> None:
    written = set(re.findall(rf'"({FAULT})"', CODE)) | {"flat.header", "flat.trailer"}  # these are made of two words
    assert set(re.findall(rf"`({FAULT})`", PAGE)) == written


def test_every_fact_of_an_envelope_is_on_the_page() -> None:
    asked = set(re.findall(r'\b(?:facts|options)(?:\.get\(|\[)"([a-z_]+)"', CODE)) | set(
        re.findall(r'_said\("([a-z_]+)"', CODE)
    )
    told_only = {name for name in asked if name.startswith("acknowledged")} | {"user_reference"}  # of what came
    assert {name for name in asked - told_only if f"`{to_camel(name)}`" not in PAGE} == set()
    assert len(asked) > 20


OPTION_ROW = re.compile(r"^\| (?:(`[a-z0-9]+`|all) \| )?(`[a-zA-Z0-9]+`(?:, `[a-zA-Z0-9]+`)*) \|", re.MULTILINE)


@pytest.mark.parametrize("name", ["x12", "edifact", "hl7", "swift", "iso20022", "gs1", "xml", "flat", "json_lines"])
def test_the_pages_list_the_options_that_are_accepted(name: str) -> None:
    own = ROOT / "docs" / "reference" / f"{name}.md"
    titles = {"swift": "SWIFT FIN", "flat": "Flat files", "json_lines": "JSON lines"}
    title = "Putting together" if own.exists() else titles.get(name, "XML")
    text = own.read_text() if own.exists() else PAGE
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    told = {
        fact
        for whose, options in OPTION_ROW.findall(section)
        if whose in ("", "all", f"`{name}`")
        for fact in re.findall(r"`([a-zA-Z0-9]+)`", options)
    }
    known = BUILT_IN.standard(name).options
    assert known is not None
    assert {to_camel(one) for one in known} == told, "the pages list options as YAML writes them"
