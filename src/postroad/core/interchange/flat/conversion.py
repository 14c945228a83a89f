"""Members into the file's charset and record ends, and back.

Kept rule: a line end between quotes is part of a value, and stays the character that it is.
"""

from __future__ import annotations

from postroad.core.interchange.flat.charsets import decoded, encoded
from postroad.core.interchange.flat.layout import Layout
from postroad.core.interchange.flat.records import records_in


def into_file(raw: bytes, layout: Layout) -> bytes:
    """A member as it stands in the file. May raise UnicodeError."""
    if not layout.converts:
        return raw
    text = decoded(raw, layout.member_charset)
    lines = _lines(text, layout) if layout.member_end else [text]
    return layout.record_end.join(encoded(line, layout.charset) for line in lines)


def out_of_file(raw: bytes, layout: Layout) -> bytes:
    """The way back. May raise UnicodeError."""
    records = [raw[begin:end] for begin, end, _ in records_in(raw, layout)] if layout.member_end else [raw]
    text = (layout.member_end or "").join(decoded(record, layout.charset) for record in records)
    return encoded(text, layout.member_charset)


def _lines(text: str, layout: Layout) -> list[str]:
    end, quote = layout.member_end or "", decoded(layout.quote, layout.charset)
    lines, open_line = list[str](), list[str]()
    quotes = 0
    for piece in text.removesuffix(end).split(end):
        open_line.append(piece)
        quotes += piece.count(quote) if quote else 0
        if quotes % 2 == 0:
            lines.append(end.join(open_line))
            open_line, quotes = [], 0
    return [*lines, end.join(open_line)] if open_line else lines
