"""Invoices and payments in the table ``log``: the same columns, whichever kind of entry recorded them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec
import pytest

from postroad.core.model.billing_entries import BillingJournalEntry, billing_record
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.journal import ConfigurationChanged, ObjectChange
from postroad.testing.contracts.index.story_billing import BILLING
from postroad.warehouse.landing.events import EVENTS

NOT_COMPARED = {"kind", "reason"}


@pytest.mark.req("P3")
@pytest.mark.parametrize("entry", BILLING, ids=lambda entry: str(type(entry).__struct_config__.tag))
def test_a_billing_entry_lands_as_the_object_that_it_was_before(entry: BillingJournalEntry) -> None:
    record = billing_record(entry)
    change = ObjectChange(*object_key(record), 1, msgspec.to_builtins(record))
    before = ConfigurationChanged(entry.at_us, entry.by, "configuration applied", (change,))
    assert _row(entry) == _row(before)
    assert date(2026, 11, 2).isoformat() in _row(entry)["object_value"]
    assert f'"{Decimal("12.34")}"' in _row(BILLING[0])["object_value"], "amounts are texts"


def _row(entry: object) -> dict[str, str]:
    events = EVENTS[type(entry)]  # type: ignore[index]
    [row] = events.rows(7, entry, 0)
    named = dict(zip(events.columns, row, strict=True))
    return {name: value for name, value in named.items() if name not in NOT_COMPARED}
