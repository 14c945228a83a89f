"""File downloads for spreadsheets and JSON for scripts, under the same security policy as pages."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

import msgspec
from starlette.responses import Response

from postroad.console.rendering import HEADERS
from postroad.core.codecs.csv_cells import csv_cell


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([csv_cell(column) for column in columns])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return download(f"{name}.csv", text.getvalue(), "text/csv; charset=utf-8")


def download(name: str, content: str, media_type: str) -> Response:
    """Return a file for download, never displayed by the browser; the server chooses the name."""
    given = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(content, headers=HEADERS | given, media_type=media_type)


def json_response(value: Any) -> Response:
    return Response(msgspec.json.encode(value), headers=HEADERS, media_type="application/json")
