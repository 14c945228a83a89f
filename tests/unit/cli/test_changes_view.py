"""What a trace shows of documents: small differences, whatever the form and however long the lines."""

from __future__ import annotations

import pytest

from postroad.cli.changes_view import LINES_MOST, changes, lines_of, shown
from postroad.core.model.message import Part


def part(data: bytes, content_type: str = "application/xml", name: str = "1") -> Part:
    return Part(id=name, content_type=content_type, data=data)


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        ("application/xml", b"<a><b>1</b><c/></a>", b"<a><b>2</b><c/></a>", ["- <b>1</b>", "+ <b>2</b>"]),
        ("application/xml", b"<a>\n  <b>1</b>\n</a>", b"<a><b>1</b><c/></a>", ["+ <c/>"]),
        ("application/json", b'{"a":1,"b":2}', b'{"a": 1, "b": 3}', ['- "b": 2', '+ "b": 3']),
        ("application/json", b"{not json", b"{still not", ["- {not json", "+ {still not"]),
        ("text/plain", b"one\ntwo", b"one\nthree", ["- two", "+ three"]),
        ("image/png", b"\xff\x00", b"\xff\x00\x01", ["- (2 bytes)", "+ (3 bytes)"]),
    ],
)
def test_only_what_differs_is_shown(kind: str, before: bytes, after: bytes, expected: list[str]) -> None:
    [(words, lines)] = changes([part(before, kind)], [part(after, kind)])
    assert words == "changed document 1"
    assert lines.plain.split("\n") == expected


def test_parts_that_come_and_go_are_named() -> None:
    kept, gone, new = part(b"<a/>"), part(b"x", "text/plain", "old"), part(b"yy", "text/plain", "new")
    assert [words for words, _ in changes([kept, gone], [kept, new])] == [
        "removed document old (text/plain, 1 bytes)",
        "added document new (text/plain, 2 bytes)",
    ]
    assert list(changes([kept], [kept])) == []


def test_a_whole_document_keeps_its_lines_and_a_long_one_is_cut() -> None:
    assert shown(part(b"<a>\n  <b/>\n</a>\n")).plain == "<a>\n  <b/>\n</a>"
    assert shown(part(b"<a><b/></a>")).plain == "<a>\n<b/>\n</a>"
    long = shown(part(b"\n".join([b"x"] * (LINES_MOST + 3)), "text/plain")).plain.split("\n")
    assert len(long) == LINES_MOST + 1
    assert long[-1] == "… and 3 more lines"


def test_what_is_not_text_is_told_by_its_size() -> None:
    assert lines_of(part(b"\xff\xfe", "application/octet-stream")) == ["(2 bytes)"]


def test_what_others_wrote_does_not_move_the_cursor() -> None:
    evil = b"one\x1b]0;title\x07\ntwo\x1b[31m"
    assert "\x1b" not in shown(part(evil, "text/plain")).plain
    [(_, lines)] = changes([part(b"", "text/plain")], [part(evil, "text/plain")])
    assert lines.plain == "+ one ]0;title \n+ two [31m"
