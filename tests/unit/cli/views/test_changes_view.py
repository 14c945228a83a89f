"""What a trace shows of documents: small differences, whatever the form and however long the lines."""

from __future__ import annotations

import pytest

from postroad.cli.views.traces import MAX_LINES, list_changes, part_lines, show_part
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
    [(words, lines)] = list_changes([part(before, kind)], [part(after, kind)])
    assert words == "changed document 1"
    assert lines.plain.split("\n") == expected


def test_parts_that_come_and_go_are_named() -> None:
    kept, gone, new = part(b"<a/>"), part(b"x", "text/plain", "old"), part(b"yy", "text/plain", "new")
    assert [words for words, _ in list_changes([kept, gone], [kept, new])] == [
        "removed document old (text/plain, 1 bytes)",
        "added document new (text/plain, 2 bytes)",
    ]
    assert list(list_changes([kept], [kept])) == []


def test_a_whole_document_keeps_its_lines_and_a_long_one_is_cut() -> None:
    assert show_part(part(b"<a>\n  <b/>\n</a>\n")).plain == "<a>\n  <b/>\n</a>"
    assert show_part(part(b"<a><b/></a>")).plain == "<a>\n<b/>\n</a>"
    long = show_part(part(b"\n".join([b"x"] * (MAX_LINES + 3)), "text/plain")).plain.split("\n")
    assert len(long) == MAX_LINES + 1
    assert long[-1] == "… and 3 more lines"


def test_what_is_not_text_is_told_by_its_size() -> None:
    assert part_lines(part(b"\xff\xfe", "application/octet-stream")) == ["(2 bytes)"]


def test_what_others_wrote_does_not_move_the_cursor() -> None:
    evil = b"one\x1b]0;title\x07\ntwo\x1b[31m"
    assert "\x1b" not in show_part(part(evil, "text/plain")).plain
    [(_, lines)] = list_changes([part(b"", "text/plain")], [part(evil, "text/plain")])
    assert lines.plain == "+ one ]0;title \n+ two [31m"
