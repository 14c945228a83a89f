"""Cells of CSV files that spreadsheets open.

Rule: names and texts come from other parties, and spreadsheets interpret some of them as formulas; these get a
leading apostrophe.
"""

from __future__ import annotations

import re
from typing import Any

NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?\Z")
# What a spreadsheet may take for a formula: a sign, also in full width, after any blanks, line ends or invisible characters
# that the import drops; and a tab or a line end at the beginning, which may begin another cell.
FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
    r"[-=+@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b]"
    r"|[\t\r\n]"
)


def csv_cell(cell: Any) -> Any:
    """The cell as it may be written; only texts are ever changed."""
    is_formula = isinstance(cell, str) and FORMULA.match(cell) is not None and not NUMBER.match(cell)
    return f"'{cell}" if is_formula else cell
