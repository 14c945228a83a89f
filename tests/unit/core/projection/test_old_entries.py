"""Entries from before routes had contexts and journeys had ends: read as they were meant, and projected to the present tables."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry, decode, encode
from postroad.core.projection.project import project
from postroad.testing.contracts.index.story import STORY
from tests.unit.core.projection.old_entries import OLD_ENTRIES

ADDED_SINCE = {
    "MessagePosted": 10, "InvocationReturned": 9, "MessageRefused": 8, "DeliveriesAcknowledged": 2, "DeliveriesEnded": 3,
}  # fmt: skip


@pytest.mark.parametrize(("old", "entry"), [*zip(OLD_ENTRIES, STORY, strict=False)], ids=lambda one: type(one).__name__)
def test_an_old_entry_says_what_it_said(old: bytes, entry: Entry) -> None:
    assert decode(old) == entry
    fields_before, fields_now = (len(msgspec.msgpack.decode(facts)) for facts in (old, encode(entry)))
    assert fields_now - fields_before == ADDED_SINCE.get(type(entry).__name__, 0)


def test_old_entries_make_the_journeys_that_they_tell_of() -> None:
    changes = project([(seq, facts, None) for seq, facts in enumerate(OLD_ENTRIES, 1)])
    at_stamper, at_bank, expired, waiting = (delivery_number(*at) for at in ((2, 0), (2, 1), (9, 0), (14, 0)))
    assert changes["insert_journey"] == [(id_, id_, 0) for id_ in (at_stamper, at_bank, expired, waiting)]
    assert changes["move_journey"] == [(delivery_number(4, 0), None, 4, at_stamper)]
    assert changes["settle_journey"] == [(DeliveryState.DELIVERED, 7000, "answered", 7, at_bank)]
    assert [row[3] for row in changes["insert_content"]] == [OLD_ENTRIES[3]]
