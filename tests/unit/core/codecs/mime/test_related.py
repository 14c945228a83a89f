"""Which part of a multipart/related is the root."""

from __future__ import annotations

import pytest

from postroad.core.codecs.mime import Related, read_related
from postroad.errors import Refused


def related(start: str, *ids: str, kind: str = "text/xml") -> Related:
    """A message whose parts have these Content-IDs, each part saying which one it is."""
    parts = b"".join(
        b"--gap\r\nContent-Type: %b\r\nContent-ID: %b\r\n\r\n%d\r\n" % (kind.encode(), id_.encode(), number)
        for number, id_ in enumerate(ids, 1)
    )
    content_type = "multipart/related; boundary=gap" + (f'; start="{start}"' if start else "")
    return read_related(content_type, parts + b"--gap--")


def places(message: Related) -> list[int]:
    return [int(bytes(entity.body)) for entity in (message.root, *message.others)]


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("start", "ids", "order"),
    [
        ("", ("<a>", "<b>"), [1, 2]),
        ("<b>", ("<a>", "<b>", "<c>"), [2, 1, 3]),
        ("b", ("<a>", "<b>"), [2, 1]),
        ("<b>", ("a", "b"), [2, 1]),
        ("<b%40c>", ("<a>", "<b@c>"), [2, 1]),
        ("<b@c>", ("<a>", "<b%40c>"), [2, 1]),
        ("<b%40c>", ("<b@c>", "<b%40c>"), [2, 1]),
        ("cid:b@c", ("<a>", "<b@c>"), [2, 1]),
        ("<http://claiming-it.com/a.xml>", ("<x>", "<http://claiming-it.com/a.xml>"), [2, 1]),
        ("<a>", ("<a>",), [1]),
        ("", ("", ""), [1, 2]),
    ],
)
def test_the_root_is_the_part_that_start_names_or_the_first(start: str, ids: tuple[str, ...], order: list[int]) -> None:
    message = related(start, *ids)
    assert places(message) == order
    assert message.start == start.strip("<>")
    assert [int(bytes(part.body)) for part in message.multipart.parts] == sorted(order)


def test_a_start_that_no_part_has_is_refused() -> None:
    with pytest.raises(Refused, match="no part has that Content-ID") as refused:
        related("<c>", "<a>", "<b>")
    assert refused.value.code == "wire.malformed"


@pytest.mark.parametrize("ids", [("<a>", "<b>", "<a>"), ("<a>", "a")])
def test_two_parts_of_one_id_are_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(Refused, match="ids are unique") as refused:
        related("<a>", *ids)
    assert refused.value.code == "wire.malformed"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("application/xop+xml; type=text/xml", True), ("Application/XOP+XML", True), ("text/xml", False)],
)
def test_an_mtom_root_is_known_by_its_type(kind: str, expected: bool) -> None:
    assert related("", "<a>", kind=kind).is_xop is expected


@pytest.mark.parametrize(
    "content_type", ["multipart/mixed; boundary=gap", "text/xml", "multipart/relatedx; boundary=gap"]
)
def test_anything_else_is_refused(content_type: str) -> None:
    with pytest.raises(Refused) as refused:
        read_related(content_type, b"--gap\r\n\r\n\r\n--gap--")
    assert refused.value.code == "wire.unsupported"
