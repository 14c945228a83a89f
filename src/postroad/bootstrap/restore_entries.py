"""The entries that follow a restore: the network level, if it does not allow the next one, and the record of the restore.

Rule: a network whose journal has ``network.restored`` is at a level that has it. Otherwise an earlier version would open the
network, and fail at that entry.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.core.model.journal import BY_NETWORK, ConfigurationChanged, NetworkRestored, ObjectChange, decode, encode
from postroad.core.model.level import (
    FIRST,
    LEVEL_KEY,
    LEVEL_KIND,
    NetworkLevel,
    can_write,
    newest_level,
    read_level,
    require_readable,
)
from postroad.ports import Clock, JournalHead, NewRecord

MAX_REASON = 500
CONFIGURATION_CHANGED = str(ConfigurationChanged.__struct_config__.tag).encode()


class RestoreEntries:
    """Finds the level in the groups that are restored, and makes the entries."""

    def __init__(self, clock: Clock, *, reason: str, skip_numbers: int, backup: int) -> None:
        self._clock = clock
        self._reason = reason[:MAX_REASON]
        self._skip_numbers = skip_numbers
        self._backup = backup
        self._level = NetworkLevel(level=FIRST)
        self._level_version = 0

    def add(self, group: RecordGroup) -> None:
        """Read the level that a restored group sets, if it sets one."""
        for change in find_changes(group):
            if (change.kind, change.key) == (LEVEL_KIND, LEVEL_KEY):
                self._level, self._level_version = read_level(change.value), change.version

    def make_records(self, head: JournalHead) -> list[NewRecord]:
        """Return the entries after ``head``; raises LevelTooHigh if a later version made the backup."""
        require_readable(self._level)
        entries: list[ConfigurationChanged | NetworkRestored] = []
        if not can_write(self._level.level, "network.restored"):
            entries.append(self._raise_level())
        entries.append(
            NetworkRestored(
                at_us=self._clock.now_us(),
                by=BY_NETWORK,
                cut=head.seq,
                chain=head.chain,
                reason=self._reason,
                skip_numbers=self._skip_numbers,
                backup=self._backup,
            )
        )
        return [NewRecord(encode(entry), None) for entry in entries]

    def _raise_level(self) -> ConfigurationChanged:
        value = newest_level()
        change = ObjectChange(LEVEL_KIND, LEVEL_KEY, self._level_version + 1, msgspec.to_builtins(value))
        reason = f"network level raised to {value.level} by a restore"
        return ConfigurationChanged(at_us=self._clock.now_us(), by=BY_NETWORK, reason=reason, objects=(change,))


def find_changes(group: RecordGroup) -> Iterator[ObjectChange]:
    """Yield the changes of configuration objects in a group; other entries are not decoded."""
    if CONFIGURATION_CHANGED not in group.facts:
        return
    for _, facts, _ in frame.iter_records(group, group.first_seq):
        if CONFIGURATION_CHANGED in facts and isinstance(entry := decode(facts), ConfigurationChanged):
            yield from entry.objects
