"""A restored network is at a level that has the entry about the restore."""

from __future__ import annotations

import pytest

from postroad.adapters.journal.postgres_group import pack
from postroad.adapters.journal.segments.frame import EMPTY, RecordGroup
from postroad.bootstrap.restore_entries import RestoreEntries
from postroad.core.model.journal import (
    AccessRecorded,
    ConfigurationChanged,
    Entry,
    NetworkRestored,
    ObjectChange,
    decode,
    encode,
)
from postroad.core.model.level import LEVEL_KEY, LEVEL_KIND, NEWEST, LevelTooHigh
from postroad.core.model.snapshot import Directory
from postroad.ports import NewRecord
from postroad.testing.clocks import ManualClock


def group_of(*entries: Entry) -> RecordGroup:
    packed = pack([NewRecord(encode(entry), None) for entry in entries])
    return RecordGroup(
        offset=0, first_seq=1, record_count=len(entries), chain=bytes(32), table=packed.entries, facts=packed.facts,
        bodies_at=0, bodies_bytes=0, end=0,
    )  # fmt: skip


def level_set(level: int, version: int) -> ConfigurationChanged:
    change = ObjectChange(LEVEL_KIND, LEVEL_KEY, version, {"level": level, "release": "9.9"})
    return ConfigurationChanged(1, "o@p.example", "configuration.changed", (change,))


def entries_after(*groups: RecordGroup) -> list[Entry]:
    entries = RestoreEntries(ManualClock(), reason="why", skip_numbers=7, backup=9)
    for group in groups:
        entries.add(group)
    return [decode(record.facts) for record in entries.make_records(EMPTY)]


@pytest.mark.req("O6", "O7")
@pytest.mark.parametrize("version", [0, 3])
def test_a_low_level_is_raised_first(version: int) -> None:
    """Without a level object, the network is older than levels."""
    before = [group_of(AccessRecorded(1, "configuration.changed", "login"))]
    before += [group_of(level_set(1, version))] if version else []
    raised, restored = entries_after(*before)
    assert isinstance(raised, ConfigurationChanged)
    [change] = raised.objects
    assert (change.kind, change.key, change.version) == (LEVEL_KIND, LEVEL_KEY, version + 1)
    assert Directory().apply_changes([change], 1).level == NEWEST
    assert isinstance(restored, NetworkRestored)
    assert (restored.reason, restored.skip_numbers, restored.backup) == ("why", 7, 9)


def test_a_sufficient_level_stays() -> None:
    [restored] = entries_after(group_of(level_set(1, 1)), group_of(level_set(NEWEST, 2)))
    assert isinstance(restored, NetworkRestored)


def test_a_backup_of_a_later_version_is_refused() -> None:
    with pytest.raises(LevelTooHigh, match=r"needs postroad 9\.9 or later"):
        entries_after(group_of(level_set(NEWEST + 1, 1)))
