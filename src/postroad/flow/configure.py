"""Change the directory: check, write down, and only then let the change take effect.

Kept rules: a change is one entry, however many objects it touches, so it happens whole or not at all; each object's version
grows by one, and whoever changes an object says which version they have seen, so nobody overwrites what they have not read; a
change that has begun is carried out, also when whoever asked for it is gone, or what is durable would not be what holds here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from postroad.core.model.journal import ConfigurationChanged, ObjectChange
from postroad.core.model.snapshot import BY_THE_THOUSAND, Directory, object_key
from postroad.core.projection.keys import version_key
from postroad.core.projection.queries import QUERIES
from postroad.errors import Refused
from postroad.flow.commit import committed
from postroad.ports import Clock, Conflict, Desk, IndexReader, Step

SEQ = QUERIES["objects"][1].index("seq")
_Done = TypeVar("_Done")
Follower = Callable[[Directory, Sequence[ObjectChange]], None]  # told the directory after the changes, and these


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Save ``value``, or remove what is under kind and key when it is None."""

    kind: str
    key: str
    value: Any | None
    seen_version: int | None = None  # the version the caller has read; None: whatever is there


def saving(value: Any, seen_version: int | None = None) -> Change:
    kind, key = object_key(value)
    return Change(kind=kind, key=key, value=value, seen_version=seen_version)


async def to_its_end(work: Coroutine[Any, Any, _Done]) -> _Done:
    """Wait for work that goes on when we are cancelled."""
    return await asyncio.shield(asyncio.get_running_loop().create_task(work))


class Configuration:
    """The current directory, and the one way to change it."""

    def __init__(self, desk: Desk, index: IndexReader, clock: Clock) -> None:
        self._desk = desk
        self._index = index
        self._clock = clock
        self._lock = asyncio.Lock()
        self._directory = Directory()
        self._read_to = 0  # the entry up to which the index has told of changes; those made here are known before
        self._listeners: list[Callable[[Directory], None]] = []
        self._followers: list[Follower] = []

    def on_change(self, listener: Callable[[Directory], None]) -> None:
        """Have somebody told of every new directory, and of the present one now.

        Of bindings and parts of models, which come and go by the thousand, only followers are told.
        """
        self._listeners.append(listener)
        listener(self._directory)

    def follow(self, follower: Follower) -> None:
        """Have somebody told of every change from now on, object by object."""
        self._followers.append(follower)

    def directory(self) -> Directory:
        return self._directory

    async def load(self) -> None:
        """Take the directory from the index: at the start, and whenever another node may have changed it."""
        rows = await self._index.query("objects_since", self._read_to)
        if not rows:
            return
        self._read_to = rows[-1][SEQ]
        known = self._directory.object_version
        news = [change for change in changes_of_rows(rows) if change.version > known(change.kind, change.key)]
        if news:
            self._become(news, max(self._directory.version, self._read_to))

    async def change(self, by: str, changes: Sequence[Change], reason: str = "") -> Directory:
        """Carry out all changes at once; raises Refused when one of the objects was changed by somebody else."""
        return await to_its_end(self._change(by, changes, reason))

    async def _change(self, by: str, changes: Sequence[Change], reason: str) -> Directory:
        async with self._lock:
            numbered = tuple(self._numbered(change) for change in changes)
            keys = tuple(version_key(change.kind, change.key, change.version) for change in numbered)
            entry = ConfigurationChanged(self._clock.now_us(), by, reason, numbered)
            outcome = await committed(self._desk, Step(entry, keys=keys, reserve=True))
            if isinstance(outcome, Conflict):  # on another node of a shared network
                raise _conflict("it")
            self._become(numbered, outcome.seq)
            return self._directory

    def _become(self, changes: Sequence[ObjectChange], version: int) -> None:
        self._directory = directory = self._directory.changed(changes, version)
        for follower in self._followers:
            follower(directory, changes)
        if any(change.kind not in BY_THE_THOUSAND for change in changes):
            for listener in self._listeners:
                listener(directory)

    def _numbered(self, change: Change) -> ObjectChange:
        current = self._directory.object_version(change.kind, change.key)
        if change.seen_version is not None and change.seen_version != current:
            raise _conflict(f"{change.kind} {change.key}")
        value = None if change.value is None else msgspec.to_builtins(change.value)
        return ObjectChange(change.kind, change.key, current + 1, value)


def changes_of_rows(rows: Sequence[tuple[Any, ...]]) -> list[ObjectChange]:
    """Objects as they are now, from an index's table of them."""
    return [
        ObjectChange(kind, key, number, msgspec.json.decode(value) if value else None)
        for kind, key, number, value, *_ in rows
    ]


def directory_of_rows(rows: Sequence[tuple[Any, ...]]) -> Directory:
    """The directory that an index has in its table of objects."""
    return Directory().changed(changes_of_rows(rows), max((row[6] for row in rows), default=0))


def _conflict(what: str) -> Refused:
    return Refused("version.conflict", f"Somebody changed {what} meanwhile; read it again and repeat your change")
