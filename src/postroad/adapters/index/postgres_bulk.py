"""Many changes in one round trip to PostgreSQL.

Rule: the result equals that of the named statement row by row. New rows are copied directly into their table; rows
that may exist, and updates, go through arrays (``unnest``) around the named statement's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Row = tuple[Any, ...]

_PARAMETER = re.compile(r"\$(\d+)")
_FROM_TABLE = re.compile(r"FROM \w+\nWHERE")
_VALUES = re.compile(r"VALUES \((.*)\) ON CONFLICT", re.DOTALL)


def bulk_form(statement: str, types: list[str]) -> str:
    """The statement over arrays: each ``$n`` becomes a column of the rows that the arrays make up."""
    arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(types, 1))
    names = ", ".join(f"p{place}" for place in range(1, len(types) + 1))
    rows = f"FROM unnest({arrays}) AS change ({names})"
    if statement.startswith("UPDATE"):
        change, condition = _over_rows(statement).rsplit("WHERE", 1)
        return f"{change}{rows} WHERE{condition}"
    if found := _FROM_TABLE.search(statement):
        before, condition = statement[: found.start()], statement[found.end() :]
        table = found[0].removesuffix("\nWHERE")
        return f"{_over_rows(before)}{table}, {rows.removeprefix('FROM ')} WHERE{_over_rows(condition)}"
    values = _VALUES.search(statement)
    if values is None:
        raise ValueError(f"no bulk form for: {statement}")
    return f"{statement[: values.start()]}SELECT {_over_rows(values[1])} {rows} ON CONFLICT{statement[values.end() :]}"


def _over_rows(sql: str) -> str:
    return _PARAMETER.sub(r"change.p\1", sql)


class BulkStatements:
    """Runs inserts and updates for many rows. PostgreSQL reports the types of the parameters once."""

    def __init__(self) -> None:
        self._forms: dict[str, str] = {}

    async def run(self, connection: Any, statement: str, rows: list[Row]) -> None:
        if statement not in self._forms:
            parameters = (await connection.prepare(statement)).get_parameters()
            self._forms[statement] = bulk_form(statement, [parameter.name for parameter in parameters])
        await connection.execute(self._forms[statement], *map(list, zip(*rows, strict=True)))


def split_into_rounds(rows: Iterable[Row]) -> list[list[Row]]:
    """Split the changes into rounds so that no delivery (the last value of a row) is changed twice in one.

    An UPDATE over arrays changes a row only once, however many changes it contains for it.
    """
    found: list[list[Row]] = []
    times: dict[Any, int] = {}
    for row in rows:
        turn = times[row[-1]] = times.get(row[-1], -1) + 1
        if turn == len(found):
            found.append([])
        found[turn].append(row)
    return found


def replace_nul(rows: list[Row]) -> list[Row]:
    """The rows with U+FFFD for each NUL, the one character that PostgreSQL's text cannot hold; the header keeps the original."""
    return [tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row) for row in rows]
