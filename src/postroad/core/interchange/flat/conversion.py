"""Converts members to the file's charset and record ends, and back.

Rule: a line end between quotes is part of a value, and stays the character that it is.
"""

from __future__ import annotations

from postroad.core.interchange.flat.charsets import decode_text, encode_text
from postroad.core.interchange.flat.layout import FlatLayout
from postroad.core.interchange.flat.records import records_in


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
