"""The directory that a job works under: as a journal has it, at any moment, or as configuration files would make it.

Kept rules: files are planned by the same function as ``postroad apply``, with all its checks; credentials play no part in what
becomes of messages, so they are left out before anything is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from postroad.core.configuration.document import Fault, read_document
from postroad.core.configuration.plan import directory_after, plan
from postroad.core.model.journal import ConfigurationChanged, ObjectChange, decode
from postroad.core.model.snapshot import KINDS, Directory
from postroad.errors import Misconfigured
from postroad.warehouse.bulk.directory_text import KEPT_AT_HOME
from postroad.warehouse.bulk.journals import opened, records

CHANGED = b"configuration.changed"


class Directories:
    """All directories that a network has had, by the number of the journal entry that made each."""

    def __init__(self, changes: Iterable[tuple[int, Sequence[ObjectChange]]]) -> None:
        self._entries = list(changes)
        self._numbers = [number for number, _ in self._entries]
        self._made = 0  # entries that are in the last directory that was asked for
        self._last = Directory()

    def latest(self) -> Directory:
        return self.at(self._entries[-1][0]) if self._entries else Directory()

    def at(self, version: int) -> Directory:
        """The directory of that version; entries after it do not count.

        Asked for in the order of versions, each costs what has changed since the one before.
        """
        until = bisect_right(self._numbers, version)
        if until < self._made:
            self._made, self._last = 0, Directory()
        if until > self._made:
            objects: dict[tuple[str, str], ObjectChange] = {}
            for _, changes in self._entries[self._made : until]:
                objects.update({(change.kind, change.key): change for change in changes})
            self._last = self._last.changed(objects.values(), self._numbers[until - 1])
            self._made = until
        return self._last

    def text(self) -> bytes:
        """All of it for processes that have no journal, without what stays at home."""
        return msgspec.json.encode([(number, without_secrets(changes)) for number, changes in self._entries])

    @classmethod
    def from_text(cls, text: bytes) -> Directories:
        return cls(msgspec.json.decode(text, type=list[tuple[int, list[ObjectChange]]]))


def without_secrets(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    return [change for change in changes if change.kind in KINDS and change.kind not in KEPT_AT_HOME]


def directories_in(journal: str) -> Directories:
    return Directories((seq, entry.objects) for seq, entry in _configuration_entries(journal))


def _configuration_entries(journal: str) -> Iterator[tuple[int, ConfigurationChanged]]:
    with opened(journal) as reader:
        for record in records(reader, 0, reader.durable_seq(), (CHANGED,)):
            entry = decode(record.facts)
            if isinstance(entry, ConfigurationChanged):
                yield record.seq, entry


def changed_directory(
    content: Mapping[str, Any], directory: Directory | None = None, *, prune: bool = False
) -> Directory:
    """The directory after this document were applied; raises Misconfigured with everything that is wrong with it."""
    document = read_document(without_credentials(content))
    if isinstance(document, list):
        raise Misconfigured([_told(fault) for fault in document])
    before = directory or Directory()
    found = plan(
        document,
        before,
        secrets={},
        fresh_ids=_steady_ids(str(sorted(document.organizations))),
        now_us=0,
        prune=prune,
        may_choose_ids=True,
    )
    if found.faults:
        raise Misconfigured([_told(fault) for fault in found.faults])
    return directory_after(before, found.steps)


def without_credentials(content: Mapping[str, Any]) -> dict[str, Any]:
    """The document without what proves identities; a shape that cannot be right is left for the reader to complain about."""
    houses = content.get("organizations")
    if not isinstance(houses, dict):
        return dict(content)
    return {**content, "organizations": {name: _open_house(house) for name, house in houses.items()}}


def _open_house(house: Any) -> Any:
    services = house.get("services") if isinstance(house, dict) else None
    if not isinstance(services, dict):
        return house
    bare = {
        name: {key: value for key, value in service.items() if key != "credentials"} if isinstance(service, dict) else service
        for name, service in services.items()
    }  # fmt: skip
    return {**house, "services": bare}


def _steady_ids(seed: str) -> Iterator[str]:
    """GCIDs for services that the files give none: the same whenever the same files are read."""
    number = 0
    while True:
        number += 1
        yield blake2b(f"{seed} {number}".encode(), digest_size=8).hexdigest()


def _told(fault: Fault) -> str:
    return f"{fault.pointer}: {fault.detail}"
