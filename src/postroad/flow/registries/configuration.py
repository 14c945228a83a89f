"""The configuration: check a change, store it, and only then apply it.

Rules: a change is one entry, however many objects it contains, so it is applied completely or not at all. Each
object's version grows by one, and a change names the version it is based on, so no one overwrites a change they have
not read. A change that has begun is completed even if its client disconnects; otherwise the durable state could
differ from the state in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from postroad.core.model.billing_entries import FIRST_VERSION, BillingJournalEntry, record_value
from postroad.core.model.configuration_objects import LARGE_KINDS, object_key
from postroad.core.model.journal import ConfigurationChanged, ObjectChange
from postroad.core.model.level import FIRST, LEVEL_KEY, LEVEL_KIND, read_level, require_level, require_readable
from postroad.core.model.secret_entries import SECRET, SecretChanged, secret_object
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.unique_keys import billing_keys, secret_version_key, version_key
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.commit import commit_step, run_to_completion, submit_step
from postroad.ports import Clock, Committed, Conflict, Desk, IndexReader, JournalStep

SEQ = QUERIES["objects"][1].index("seq")
ChangeFollower = Callable[[Directory, Sequence[ObjectChange]], None]  # told the directory after the changes, and these


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryChange:
    """A change of one directory object: save ``value``, or remove the object if it is None."""

    kind: str
    key: str
    value: Any | None
    seen_version: int | None = None  # the version the caller has read; None: whatever is there


def build_save(value: Any, seen_version: int | None = None) -> DirectoryChange:
    """Build the change that saves this object."""
    kind, key = object_key(value)
    return DirectoryChange(kind=kind, key=key, value=value, seen_version=seen_version)


class Configuration:
    """Holds the current directory and applies all changes to it."""

    def __init__(self, desk: Desk, index: IndexReader, clock: Clock) -> None:
        self._desk = desk
        self._index = index
        self._clock = clock
        self._lock = asyncio.Lock()
        self._directory = Directory()
        self._read_to = 0  # the entry up to which the index has told of changes; those made here are known before
        self._listeners: list[Callable[[Directory], None]] = []
        self._followers: list[ChangeFollower] = []

    def on_change(self, listener: Callable[[Directory], None]) -> None:
        """Call ``listener`` with every new directory, and with the current one now.

        Changes of bindings and model parts, which come and go by the thousand, are reported only to followers.
        """
        self._listeners.append(listener)
        listener(self._directory)

    def follow(self, follower: ChangeFollower) -> None:
        """Call ``follower`` with every change from now on, object by object."""
        self._followers.append(follower)

    def directory(self) -> Directory:
        return self._directory

    async def load(self) -> None:
        """Load the directory from the index: at the start, and when another node may have changed it."""
        rows = await self._index.query("objects_since", self._read_to)
        if not rows:
            return
        self._read_to = rows[-1][SEQ]
        known = self._directory.object_version
        news = [change for change in decode_object_rows(rows) if change.version > known(change.kind, change.key)]
        for change in news:
            if change.kind == LEVEL_KIND:  # before the others, which a later version may have written
                require_readable(read_level(change.value))
        if news:
            self._become(news, max(self._directory.version, self._read_to))

    def settle_level(self) -> None:
        """Set the level of a stored network that has no level object: it is older than levels."""
        if not self._directory.object_version(LEVEL_KIND, LEVEL_KEY):
            self._directory = replace(self._directory, level=FIRST)

    async def change(self, by: str, changes: Sequence[DirectoryChange], reason: str = "") -> Directory:
        """Apply all changes at once; raises Refused if another party has changed one of the objects."""
        return await run_to_completion(self._change(by, changes, reason))

    async def _change(self, by: str, changes: Sequence[DirectoryChange], reason: str) -> Directory:
        async with self._lock:
            self._require_level(changes)
            numbered = tuple(self._numbered(change) for change in changes)
            keys = tuple(version_key(change.kind, change.key, change.version) for change in numbered)
            entry = ConfigurationChanged(at_us=self._clock.now_us(), by=by, reason=reason, objects=numbered)
            outcome = await commit_step(self._desk, JournalStep(entry, keys=keys, reserve=True))
            if isinstance(outcome, Conflict):  # on another node of a shared network
                raise _conflict("it")
            self._become(numbered, outcome.seq)
            return self._directory

    async def record(self, decide: Callable[[Directory], Sequence[BillingJournalEntry]]) -> list[BillingJournalEntry]:
        """Append billing entries that are decided on the current directory; returns those that were written.

        An entry is left out if another node has used its number or made its request meanwhile; ``load`` and decide again.
        """
        return await run_to_completion(self._record(decide))

    async def _record(self, decide: Callable[[Directory], Sequence[BillingJournalEntry]]) -> list[BillingJournalEntry]:
        async with self._lock:
            entries = decide(self._directory)
            require_level(self._directory.level, *{str(type(entry).__struct_config__.tag) for entry in entries})
            steps = [JournalStep(entry, keys=tuple(billing_keys(entry)), reserve=True) for entry in entries]
            submitted = [submit_step(self._desk, step) for step in steps]  # one group, and one sync for all
            outcomes = await asyncio.gather(*submitted)
            written = [(one, it.seq) for one, it in zip(entries, outcomes, strict=True) if isinstance(it, Committed)]
            if written:
                self._become(
                    [_object_change(entry) for entry, _ in written],
                    max(seq for _, seq in written),
                )
            for outcome in outcomes:
                if isinstance(outcome, Unavailable):
                    raise outcome
            return [entry for entry, _ in written]

    def _require_level(self, changes: Sequence[DirectoryChange]) -> None:
        """Refuse kinds of objects that the network's level does not have; raising the level itself is allowed."""
        require_level(self._directory.level, *{change.kind for change in changes} - {LEVEL_KIND})

    async def record_secret(self, decide: Callable[[Directory], SecretChanged]) -> Directory:
        """Record that a secret was set or removed, as decided on the current directory; raises Refused on a conflict."""
        return await run_to_completion(self._record_secret(decide))

    async def _record_secret(self, decide: Callable[[Directory], SecretChanged]) -> Directory:
        async with self._lock:
            entry = decide(self._directory)
            require_level(self._directory.level, str(type(entry).__struct_config__.tag))
            outcome = await commit_step(self._desk, JournalStep(entry, keys=(secret_version_key(entry),), reserve=True))
            if isinstance(outcome, Conflict):
                raise _conflict(f"secret {entry.name}")
            key, value = secret_object(entry)
            self._become([ObjectChange(SECRET, key, entry.version, value)], outcome.seq)
            return self._directory

    def _become(self, changes: Sequence[ObjectChange], version: int) -> None:
        self._directory = directory = self._directory.apply_changes(changes, version)
        for follower in self._followers:
            follower(directory, changes)
        if any(change.kind not in LARGE_KINDS for change in changes):
            for listener in self._listeners:
                listener(directory)

    def _numbered(self, change: DirectoryChange) -> ObjectChange:
        current = self._directory.object_version(change.kind, change.key)
        if change.seen_version is not None and change.seen_version != current:
            raise _conflict(f"{change.kind} {change.key}")
        value = None if change.value is None else msgspec.to_builtins(change.value)
        return ObjectChange(change.kind, change.key, current + 1, value)


def _object_change(entry: BillingJournalEntry) -> ObjectChange:
    kind, key, value = record_value(entry)
    return ObjectChange(kind, key, FIRST_VERSION, value)


def decode_object_rows(rows: Sequence[tuple[Any, ...]]) -> list[ObjectChange]:
    """Decode the objects in rows of an index's object table."""
    return [
        ObjectChange(kind, key, number, msgspec.json.decode(value) if value else None)
        for kind, key, number, value, *_ in rows
    ]


def decode_directory_rows(rows: Sequence[tuple[Any, ...]]) -> Directory:
    """Build the directory from the rows of an index's object table."""
    return Directory().apply_changes(decode_object_rows(rows), max((row[6] for row in rows), default=0))


def _conflict(what: str) -> Refused:
    return Refused(
        "version.conflict", f"Another client changed {what} in the meantime; read it again and repeat your change"
    )
