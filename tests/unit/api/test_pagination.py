"""Cursors: only whole, only for the same question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.api.pagination import Cursors, PageQuery
from postroad.errors import Refused

CURSORS = Cursors(b"k" * 32)


@given(asked=st.text(max_size=20), position=st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_cursor_says_where_it_was_made(asked: str, position: str) -> None:
    assert CURSORS.read(asked, CURSORS.write(asked, position)) == position


@given(cursor=st.text(min_size=1, max_size=60))
def test_nothing_made_up_is_taken(cursor: str) -> None:
    with pytest.raises(Refused) as refused:
        CURSORS.read("asked", cursor)
    assert refused.value.code == "cursor.invalid"


def test_not_for_another_question_or_another_key() -> None:
    cursor = CURSORS.write("mine", "7")
    for reader, asked in ((CURSORS, "yours"), (Cursors(b"other key"), "mine")):
        with pytest.raises(Refused):
            reader.read(asked, cursor)


@given(items=st.lists(st.integers(0, 10_000), unique=True, max_size=40), limit=st.integers(1, 7))
def test_pages_give_everything_once_and_in_order(items: list[int], limit: int) -> None:
    ordered = sorted(items)
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page = CURSORS.page("asked", PageQuery(limit=limit, cursor=cursor), ordered, lambda item: f"{item:06d}")
        assert len(page.items) <= limit
        seen += page.items
        cursor = page.next
    assert seen == ordered
