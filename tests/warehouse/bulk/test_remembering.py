"""An engine behind ``Remembering`` is asked once about the same message, and again about every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from postroad.ports import ItemValue, QueryVerdict
from postroad.warehouse.bulk.match.engines import CachedQueryEngine

XML = "application/xml"


class Asked:
    """Says yes to queries that stand in the content, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def check(self, query: str) -> None:
        self.asked.append((query,))

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        self.asked.append(tuple(queries))
        return [QueryVerdict(goes=query.encode() in content) for query in queries]


@pytest.mark.req("P6")
async def test_only_what_was_not_said_of_the_same_message_is_asked() -> None:
    engine = Asked()
    remembering = CachedQueryEngine(engine)
    first = await remembering.evaluate(["a", "b", "a"], b"<a/>", XML, {"n": 1})
    assert [verdict.goes for verdict in first] == [True, False, True]
    again = await remembering.evaluate(["b", "x", "a"], b"<a/>", XML, {"n": 1})
    assert [verdict.goes for verdict in again] == [False, False, True]
    assert engine.asked == [("a", "b"), ("x",)]


@pytest.mark.parametrize(
    ("content", "media_type", "items"),
    [
        (b"<b/>", XML, {"n": 1}),
        (b"<a/>", "text/xml", {"n": 1}),
        (b"<a/>", XML, {"n": 2}),
        (b"<a/>", XML, {}),
        (b"<a/>", XML, {"n": True}),
    ],
)
async def test_another_message_is_asked_about_anew(
    content: bytes, media_type: str, items: dict[str, ItemValue]
) -> None:
    engine = Asked()
    remembering = CachedQueryEngine(engine)
    await remembering.evaluate(["a"], b"<a/>", XML, {"n": 1})
    [verdict] = await remembering.evaluate(["a"], content, media_type, items)
    assert (verdict.goes, len(engine.asked)) == (b"a" in content, 2)
    await remembering.check("a")
    assert engine.asked[-1] == ("a",)
