"""Named SQL statements from the files under ``sql/``, written once for SQLite and PostgreSQL.

Rule: no SQL is built from values. Only lists of columns from ``core.projection`` are inserted, and for SQLite the
parameter syntax (``$1`` becomes ``?1``) and the byte collation, its default.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

from postroad.adapters.index.header_columns import IN_HEADER
from postroad.core.projection.tables import TABLES

Dialect = Literal["sqlite", "postgres"]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_BODY = ("body_segment", "body_offset", "body_length", "body_digest")


def sql_text(name: str) -> str:
    return (resources.files("postroad.adapters.index") / "sql" / name).read_text(encoding="utf-8")


@cache
def load_statements(file: str, dialect: Dialect) -> dict[str, str]:
    """The statements of a file by name, ready for that database."""
    _, *pieces = _NAME.split(sql_text(file))
    return {
        name: for_dialect(fill(_COMMENT.sub("", text).strip(), in_full=file == "queries.sql"), dialect)
        for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    }


def for_dialect(statement: str, dialect: Dialect) -> str:
    if dialect == "postgres":
        return statement
    return re.sub(r"\$(\d+)", r"?\1", statement).replace('COLLATE "C"', "COLLATE BINARY")


def fill(statement: str, *, in_full: bool) -> str:
    """Return the statement with its ``{table}`` placeholders replaced by column names, or by the expressions for their values."""
    return _PLACEHOLDER.sub(lambda found: _columns(found[1], in_full), statement)


def whole_table(table: str, order: tuple[str, ...]) -> str:
    """The query that shows all rows of a table as the projection made them."""
    source = _SOURCES.get(table, table)
    by = ", ".join(f"{table}.{column}" for column in order)
    return fill(f"SELECT {{{table}}} FROM {source} ORDER BY {by}", in_full=True)  # noqa: S608 - names from TABLES


def _columns(name: str, in_full: bool) -> str:
    if name in _JOINED:
        return ", ".join(value_of(table, column) for table, columns in _JOINED[name] for column in columns)
    if name in _PIECES:
        return _PIECES[name]
    return ", ".join(value_of(name, column) if in_full else column for column in TABLES[name])


def value_of(table: str, column: str) -> str:
    """The expression that gives a projected column; most are stored as they are."""
    return _VALUES.get((table, column), f"{table}.{column}")


def _gcid(column: str, name: str) -> str:
    return f"(SELECT service.gcid FROM service WHERE service.number = {column}) AS {name}"  # noqa: S608 - fixed names


# A delivery at the first service of its copy has these in its number, or in its message, and not in its row.
_MESSAGE_SEQ = "coalesce(delivery.message_seq, delivery.number >> 16)"
_VALUES = {
    **{("message", column): f"NULL AS {column}" for column in IN_HEADER},
    ("message", "transaction_id"): "coalesce(message.transaction_id, message.session) AS transaction_id",
    ("message", "sender"): _gcid("message.sender", "sender"),
    ("delivery", "message_seq"): f"{_MESSAGE_SEQ} AS message_seq",
    ("delivery", "copy"): "coalesce(delivery.copy, delivery.number & 65535) AS copy",
    ("delivery", "hop"): "coalesce(delivery.hop, 0) AS hop",
    ("delivery", "content_seq"): "coalesce(delivery.content_seq, delivery.number >> 16) AS content_seq",
    ("delivery", "sender"): _gcid("coalesce(delivery.sender, message.sender)", "sender"),
    ("delivery", "recipient"): _gcid("delivery.recipient", "recipient"),
    ("delivery", "queued_at_us"): "coalesce(delivery.queued_at_us, message.at_us) AS queued_at_us",
    ("delivery", "journey"): "coalesce(delivery.journey, 0) AS journey",
    ("delivery", "origin"): "coalesce(delivery.origin, 0) AS origin",
    ("dead_letter", "recipient"): _gcid("dead_letter.recipient", "recipient"),
    ("dead_letter", "sender"): _gcid("dead_letter.sender", "sender"),
    ("seen", "session"): "coalesce(message.session, content.session, '') AS session",
}

_ITS_MESSAGE = f"JOIN message ON message.seq = {_MESSAGE_SEQ}"
_SOURCES = {
    "delivery": f"delivery {_ITS_MESSAGE}",
    "seen": "seen LEFT JOIN message ON message.seq = seen.seq LEFT JOIN content ON content.seq = seen.seq",
}

# Columns of several tables: a delivery with its message and the content that replaced it; a dead letter, or a member of a batch,
# with its delivery.
_WAITING = (("delivery", TABLES["delivery"]), ("message", ("header", *_BODY)), ("content", ("facts", *_BODY)))
_JOINED = {
    "waiting": _WAITING,
    "letter": (("dead_letter", ("at_us", "reason", "reason_code", "dealt_seq")), *_WAITING),
    "member": (("batch_member", ("facts",)), *_WAITING),
}

# The entries of a transaction that cause deliveries; the first two lines are transaction_messages' two ways to find messages.
_TRANSACTION_ORIGINS = """
  SELECT message.seq FROM message WHERE session = $1 AND transaction_id IS NULL
  UNION ALL SELECT message.seq FROM message WHERE transaction_id = $1
  UNION ALL SELECT content.seq FROM content WHERE transaction_id = $1
  UNION ALL SELECT round.seq FROM round WHERE transaction_id = $1
"""
_PIECES = {"transaction_origins": _TRANSACTION_ORIGINS, "its_message": _ITS_MESSAGE}
