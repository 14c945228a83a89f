"""The reference page of the tables is complete and current."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.adapters.index.tables_page import COLUMN_TEXTS, TABLE_TEXTS, render
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.tables import STATEMENTS, TABLES

PAGE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "tables.md"


@pytest.mark.docs
def test_the_page_is_current() -> None:
    assert PAGE.read_text() == render(), "run: python -m postroad.adapters.index.tables_page > docs/reference/tables.md"


@pytest.mark.docs
def test_every_table_and_column_is_described_and_nothing_else() -> None:
    assert set(TABLE_TEXTS) == set(TABLES)
    assert set(COLUMN_TEXTS) == {column for columns in TABLES.values() for column in columns}


@pytest.mark.docs
@pytest.mark.parametrize("name", [*TABLES, *STATEMENTS, *QUERIES])
def test_every_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text() or f"## {name}\n" in PAGE.read_text()
