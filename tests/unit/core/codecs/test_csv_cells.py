"""Cells of CSV files: nothing that others wrote becomes a formula, and numbers stay numbers."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.codecs.csv_cells import csv_cell


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+1 more", "-x", "@x", " =1+1", "\n=1+1", "\r\n=1", "\u3000=1", "＝1+1", "＋1", "－1", "＠x", "\u2212x",
     "\ufeff=1", "\u200b@x", "\u202e=1", "\t=1", "\tx", "\nx"],
)  # fmt: skip
def test_what_may_be_a_formula_is_marked(cell: str) -> None:
    assert csv_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["plain", "-2.50", "+7", "5", -5, 1.5, None, "", "a=b", " words", "Å=1"])
def test_everything_else_stays(cell: Any) -> None:
    assert csv_cell(cell) == cell
