"""Messages read back from the index are shared by their deliveries, let go when nobody needs them, and read in bounded pages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postroad.adapters.desk import queue_pages
from postroad.adapters.desk.queue_pages import MAX_ROWS, MIN_ROWS, PAGE_BYTES, KnownMessages, PageSize
from postroad.core.model.journal import MessagePosted, encode
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.queries import WAITING
from postroad.testing.random_journals.journals import make_plain_posts

MANY = 200  # recipients, which make a long header


def row_of(seq: int, recipients: int, copy: int = 0) -> tuple[Any, ...]:
    [post] = make_plain_posts(1, seq)
    assert isinstance(post, MessagePosted)
    copies = tuple(Copy(named=f"X/{number}", hops=(Hop(f"{number:016x}"),)) for number in range(recipients))
    header = encode(msgspec.structs.replace(post, copies=copies))
    known: dict[str, Any] = {"number": seq << 16 | copy, "message_seq": seq, "copy": copy, "header": header}
    return tuple(known.get(column, 0) for column in WAITING)


@pytest.mark.req("D8")
def test_deliveries_of_one_message_share_it() -> None:
    known = KnownMessages()
    first = known.message(row_of(1, MANY))
    assert known.message(row_of(1, MANY, copy=7)) is first
    assert known.message(row_of(2, MANY)) is not first


def test_a_short_header_is_not_kept() -> None:
    known = KnownMessages()
    known.message(row_of(1, 1))
    assert len(known) == 0


def test_what_nobody_needs_is_let_go_and_what_somebody_needs_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_pages, "GATHERED_BYTES", 10 * len(row_of(1, MANY)[WAITING.index("header")]))
    known = KnownMessages()
    needed = known.message(row_of(1, MANY))
    for seq in range(2, 100):
        known.message(row_of(seq, MANY))
    assert len(known) <= 12
    assert known.message(row_of(1, MANY)) is needed


def test_pages_grow_while_rows_are_light_and_shrink_when_they_are_heavy() -> None:
    pages = PageSize()
    asked = []
    for _ in range(6):
        asked.append(pages.rows)
        pages.adapt([row_of(1, 1)] * pages.rows)
    assert asked == [MIN_ROWS, 64, 256, 1_024, MAX_ROWS, MAX_ROWS]
    heavy = [row_of(1, 20_000)]
    assert len(heavy[0][WAITING.index("header")]) > PAGE_BYTES // MAX_ROWS
    pages.adapt(heavy)
    assert pages.rows == max(MIN_ROWS, PAGE_BYTES // (len(heavy[0][WAITING.index("header")]) + 1))
