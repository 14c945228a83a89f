"""Finds and converts the records of a flat file, and computes the hash total of the trailer.

Rules: a record end or line end between quotes is part of a value; sums are exact decimals.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from decimal import Decimal, localcontext

from postroad.core.interchange.flat.charsets import EBCDIC, decode_text, encode_text
from postroad.core.interchange.flat.layout import FlatLayout

_DIGITS = 60  # of the largest sum
_LINE_END = re.compile(rb"[\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,15})?")


def records_in(data: bytes, layout: FlatLayout) -> Iterator[tuple[int, int, int]]:
    """Yield for each record its start, its end, and the start of the next record; the last record end may be missing."""
    if not layout.record_end:
        yield from _by_length(len(data), layout.record_length)
        return
    quoted = bool(layout.quote) and layout.quote in data
    begin, size = 0, len(layout.record_end)
    while begin < len(data):
        end = data.find(layout.record_end, begin)
        if quoted:
            end = _outside_quotes(data, begin, end, layout)
        end = len(data) if end < 0 else end
        yield begin, end, min(end + size, len(data))
        begin = end + size


def _by_length(size: int, length: int) -> Iterator[tuple[int, int, int]]:
    for begin in range(0, size, length):
        end = min(begin + length, size)
        yield begin, end, end


def _outside_quotes(data: bytes, begin: int, end: int, layout: FlatLayout) -> int:
    """Return the first record end outside of quotes; each quote is counted once."""
    at, quotes = begin, 0
    while end >= 0:
        quotes += data.count(layout.quote, at, end)
        if quotes % 2 == 0:
            return end
        at, end = end, data.find(layout.record_end, end + 1)
    return -1


def has_other_end(record: bytes, layout: FlatLayout) -> bool:
    """Return True if a record contains a line end of another kind than the file's, so that it looks like several records."""
    if not _LINE_END.search(record) or layout.charset in EBCDIC or layout.record_end not in (b"\n", b"\r\n", b"\r"):
        return False
    quote = re.escape(layout.quote)
    return _LINE_END.search(re.sub(quote + b"[^" + quote + b"]*" + quote, b"", record) if quote else record) is not None


class HashTotal:
    """A running hash total."""

    def __init__(self, layout: FlatLayout) -> None:
        self._layout, self._sum = layout, Decimal(0)

    def add(self, record: bytes) -> str:
        """Add the record's value; returns the error if it has no number at that position."""
        layout = self._layout
        if not layout.has_total or not record.startswith(layout.total_records):
            return ""
        try:
            text = self._value(record).strip()
        except (UnicodeError, csv.Error):
            text = ""
        if not _NUMBER.fullmatch(text):
            return "it has no number at the position of the hash total"
        with localcontext(prec=_DIGITS):
            self._sum += Decimal(text)
        return ""

    def _value(self, record: bytes) -> str:
        layout = self._layout
        if layout.positions is not None:
            return decode_text(record[slice(*layout.positions)], layout.charset)
        text = decode_text(record, layout.charset)
        quote = decode_text(layout.quote, layout.charset) if layout.quote else None
        rows = csv.reader(
            [text],
            delimiter=decode_text(layout.separator, layout.charset),
            quotechar=quote,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        )
        row = next(rows, [])
        return row[layout.column - 1] if layout.column <= len(row) else ""

    @property
    def text(self) -> str:
        return f"{self._sum:f}"


def is_same_total(said: str, found: str, width: int) -> bool:
    """Return True if two totals are equal as numbers; a trailer of limited width has only the last digits."""
    cut = found[-width:] if width and len(found) > width else found
    return _NUMBER.fullmatch(said) is not None and Decimal(said) == Decimal(cut)


def encode_member(raw: bytes, layout: FlatLayout) -> bytes:
    """Convert a member to the file's charset and record ends. May raise UnicodeError."""
    if not layout.converts:
        return raw
    text = decode_text(raw, layout.member_charset)
    lines = _lines(text, layout) if layout.member_end else [text]
    return layout.record_end.join(encode_text(line, layout.charset) for line in lines)


def decode_member(raw: bytes, layout: FlatLayout) -> bytes:
    """Convert a member from the file's charset and record ends. May raise UnicodeError."""
    records = [raw[begin:end] for begin, end, _ in records_in(raw, layout)] if layout.member_end else [raw]
    text = (layout.member_end or "").join(decode_text(record, layout.charset) for record in records)
    return encode_text(text, layout.member_charset)


def _lines(text: str, layout: FlatLayout) -> list[str]:
    end, quote = layout.member_end or "", decode_text(layout.quote, layout.charset)
    lines, open_line = list[str](), list[str]()
    quotes = 0
    for piece in text.removesuffix(end).split(end):
        open_line.append(piece)
        quotes += piece.count(quote) if quote else 0
        if quotes % 2 == 0:
            lines.append(end.join(open_line))
            open_line, quotes = [], 0
    return [*lines, end.join(open_line)] if open_line else lines
