"""Tables as files for spreadsheets, and values for scripts; both under the same policy as pages.

Kept rule: names and texts are others' own, and spreadsheets take some of them for formulas; an apostrophe goes before these.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

import msgspec
from starlette.responses import Response

from postroad.console.rendering import HEADERS

NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?\Z")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return attached(f"{name}.csv", text.getvalue(), "text/csv; charset=utf-8")


def attached(name: str, content: str, media_type: str) -> Response:
    """A file for the disk, never shown by the browser; the name is ours."""
    given = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(content, headers=HEADERS | given, media_type=media_type)


def for_script(value: Any) -> Response:
    return Response(msgspec.json.encode(value), headers=HEADERS, media_type="application/json")


def _harmless(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and cell.startswith(FORMULAS) and not NUMBER.match(cell)
    return f"'{cell}" if is_formula else cell
