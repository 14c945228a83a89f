"""The columns of a message that a database stores only in its header, because no query selects or sorts by them.

Rule: results are complete. Statements return these columns as NULL, and the reader fills them from the header in the
same row.
"""

from __future__ import annotations

from typing import Any

from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.sizes import content_size
from postroad.core.projection.queries import MESSAGE, QUERIES

Row = tuple[Any, ...]

IN_HEADER = ("type", "topic", "handle", "size")
_ANSWERED_WITH_MESSAGES = {name for name, (_, columns) in QUERIES.items() if columns == MESSAGE}


def complete_answer(question: str, rows: list[Row]) -> list[Row]:
    return [_with_header(row) for row in rows] if question in _ANSWERED_WITH_MESSAGES else rows


def complete_table(table: str, rows: list[Row]) -> list[Row]:
    return [_with_header(row) for row in rows] if table == "message" else rows


def _with_header(row: Row) -> Row:
    seq, session, transaction, sender, _, _, _, at_us, _, header, *body = row
    entry = decode(header)
    if not isinstance(entry, MessagePosted):
        raise ValueError(f"the header of message {seq} is not that of a post")
    return (
        seq, session, transaction, sender, entry.type.value, entry.topic, entry.handle, at_us, content_size(entry),
        header, *body,
    )  # fmt: skip
