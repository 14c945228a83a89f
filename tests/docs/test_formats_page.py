"""The page of message formats and the explanation of mediation know every format and every field there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.core.mediation.header_fields import LISTS, ONCE, write_delivered
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Cookie, PassedService
from tests.samples.wire_messages import DELIVERED

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "message-formats.md").read_text()
EXPLANATION = (DOCS / "explanation" / "mediation.md").read_text()


def _fields(row: str) -> list[str]:
    """The fields that a row of the table names; short names follow a full one: `Postroad-Session`, `-Token`."""
    names = re.findall(r"`(Postroad)?(-[A-Za-z-]+)`", row.split("|")[1])
    return [f"Postroad{name}".lower() for _, name in names]


ROWS = [line for line in PAGE.splitlines() if line.startswith("| `Postroad-")]
POSTED = {name for row in ROWS if row.split("|")[3].strip() for name in _fields(row)}
HANDED_OUT = {name for row in ROWS if row.split("|")[4].strip() for name in _fields(row)}


def test_every_field_that_can_be_posted_is_on_the_page_and_no_other() -> None:
    assert {f"postroad-{name}" for name in ONCE | LISTS} == POSTED


def test_every_field_that_is_handed_out_is_on_the_page_and_no_other() -> None:
    full = replace(
        DELIVERED,
        cookie=Cookie("c"),
        in_transit=True,
        possible_duplicate=True,
        trace=(PassedService("A/B", 1, DELIVERED.status),),
    )
    written = {name.lower() for name, _ in write_delivered(full)}
    assert written == HANDED_OUT


@pytest.mark.parametrize("format", PLAIN)
def test_every_plain_format_is_explained_and_has_its_place_in_the_table(format: Format) -> None:
    assert f"\n| `{format.value}` |" in PAGE
    assert f"\n| `{format.value}` |" in EXPLANATION
    [row] = [line for line in EXPLANATION.splitlines() if line.startswith(f"| **`{format.value}`**")]
    cells = row.strip("|").split("|")[1:]
    assert len(cells) == len(PLAIN)
    assert cells[PLAIN.index(format)].strip().startswith("same bytes")
