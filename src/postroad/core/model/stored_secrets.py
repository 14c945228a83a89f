"""What the secret store keeps: sealed secrets, and the keys that seal them.

Rule: a version that the journal has not recorded is not in force. So a crash between store and journal leaves the old version
in force, and one between journal and activation the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postroad.core.model.secret_entries import SecretRecord


class StoredSecret(NamedTuple):
    """One version of a secret, sealed; ``organization`` and ``name`` are in lower case."""

    organization: str
    service: str  # GCID; empty: for all services of the organization
    name: str
    version: int
    digest: str  # SHA-256 of the sealed bytes, in hex
    sealed: bytes  # empty in lists
    is_active: bool  # the journal has recorded this version
    staged_at_us: int


class WrappedDataKey(NamedTuple):
    """The data key of an organization, sealed with a master key."""

    organization: str  # in lower case
    wrapped: bytes


class StoredTokenKey(NamedTuple):
    """A key of delivery tokens, sealed with a master key."""

    id: str
    wrapped: bytes  # empty: the network's base key, which is not stored here
    added_at_us: int
    from_seq: int | None  # the first journal entry whose deliveries get tokens from this key; None: not used yet
    signs_at_us: int | None  # when ``from_seq`` was chosen
    overlap_to_seq: int | None  # up to this entry the key before is accepted, too; None: not known yet


class KnownSecret(NamedTuple):
    """What the directory knows of a secret: its record, and the last version that was set or removed."""

    record: SecretRecord | None
    last_version: int

    def is_recorded(self, stored: StoredSecret) -> bool:
        record = self.record
        return record is not None and (record.version, record.digest) == (stored.version, stored.digest)

    def is_removed(self, stored: StoredSecret) -> bool:
        return self.record is None and stored.version <= self.last_version


def find_current(rows: Sequence[StoredSecret], known: KnownSecret) -> StoredSecret | None:
    """Return the version in force, or None.

    A directory that is behind the store (another node has just set a secret) does not hide an active version.
    """
    in_force = [row for row in rows if (row.is_active and not known.is_removed(row)) or known.is_recorded(row)]
    return max(in_force, key=lambda row: row.version, default=None)


class StoreRepairs(NamedTuple):
    """What a crash has left undone in the store."""

    activate: list[StoredSecret]
    discard: list[StoredSecret]
    remove: list[StoredSecret]


def list_repairs(rows: Iterable[tuple[StoredSecret, KnownSecret]], abandoned_before_us: int) -> StoreRepairs:
    """Return the repairs; a version that was staged later than that time may still be recorded by another node."""
    repairs = StoreRepairs([], [], [])
    for row, known in rows:
        if known.is_removed(row):
            repairs.remove.append(row)
        elif not row.is_active and known.is_recorded(row):
            repairs.activate.append(row)
        elif not row.is_active and row.staged_at_us < abandoned_before_us:
            repairs.discard.append(row)
    return repairs
