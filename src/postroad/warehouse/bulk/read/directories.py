"""The directory of a job: from a journal at any version or configuration files, and as versioned text for Spark workers.

Rules: credentials and billing records are not sent to workers, which do not need them. The text is read and its rules
are compiled once for each process, however many pieces of work it gets. Files are planned by the function that
``postroad apply`` uses, with all its checks; credentials do not affect messages, so they are removed before anything
is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from postroad.core.configuration.document import DocumentError, read_document
from postroad.core.configuration.planner import directory_after, make_plan
from postroad.core.model.configuration_objects import KINDS
from postroad.core.model.journal import ConfigurationChanged, ObjectChange, decode
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.warehouse.bulk.read.journals import open_journal, read_records

NOT_SHIPPED = frozenset({"person", "credential", "invoice", "payment", "as2-stations", "secret"})
DIRECTORIES_CACHED = 8

_read = msgspec.json.Decoder(list[ObjectChange]).decode


class DirectoryText(NamedTuple):
    """A directory as text; ``version`` is its digest, so that equal texts are compiled once."""

    version: str
    number: int  # the directory's own version: an entry of the journal
    text: str


def directory_text(directory: Directory) -> DirectoryText:
    objects = [
        ObjectChange(kind, key, version, msgspec.to_builtins(value))
        for (kind, key), version in sorted(directory.versions.items())
        if kind in KINDS and kind not in NOT_SHIPPED and (value := directory.object(kind, key)) is not None
    ]
    text = msgspec.json.encode(objects)
    return DirectoryText(blake2b(text, digest_size=16).hexdigest(), directory.version, text.decode())


def directory_from_text(given: DirectoryText) -> Directory:
    """Return the directory of a text, the same object for equal texts in one process."""
    return _directory(given.version, given.number, given.text)


@lru_cache(maxsize=DIRECTORIES_CACHED)
def _directory(version: str, number: int, text: str) -> Directory:
    return Directory().apply_changes(_read(text), number)


CHANGED = b"configuration.changed"


class DirectoryVersions:
    """All versions of a network's directory, by the number of the journal entry that made each."""

    def __init__(self, changes: Iterable[tuple[int, Sequence[ObjectChange]]]) -> None:
        self._entries = list(changes)
        self._numbers = [number for number, _ in self._entries]
        self._made = 0  # entries that are in the last directory that was asked for
        self._last = Directory()

    def find_latest(self) -> Directory:
        return self.at(self._entries[-1][0]) if self._entries else Directory()

    def at(self, version: int) -> Directory:
        """Return the directory of that version.

        Asked for in the order of versions, each costs what has changed since the one before.
        """
        until = bisect_right(self._numbers, version)
        if until < self._made:
            self._made, self._last = 0, Directory()
        if until > self._made:
            objects: dict[tuple[str, str], ObjectChange] = {}
            for _, changes in self._entries[self._made : until]:
                objects.update({(change.kind, change.key): change for change in changes})
            self._last = self._last.apply_changes(objects.values(), self._numbers[until - 1])
            self._made = until
        return self._last

    def text(self) -> bytes:
        """Return all versions as text for workers, without credentials and invoices."""
        return msgspec.json.encode([(number, remove_secrets(changes)) for number, changes in self._entries])

    @classmethod
    def from_text(cls, text: bytes) -> DirectoryVersions:
        return cls(msgspec.json.decode(text, type=list[tuple[int, list[ObjectChange]]]))


def remove_secrets(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    return [change for change in changes if change.kind in KINDS and change.kind not in NOT_SHIPPED]


def read_directories(journal: str) -> DirectoryVersions:
    return DirectoryVersions((seq, entry.objects) for seq, entry in _configuration_entries(journal))


def _configuration_entries(journal: str) -> Iterator[tuple[int, ConfigurationChanged]]:
    with open_journal(journal) as reader:
        for record in read_records(reader, 0, reader.durable_seq(), (CHANGED,)):
            entry = decode(record.facts)
            if isinstance(entry, ConfigurationChanged):
                yield record.seq, entry


def apply_document(content: Mapping[str, Any], directory: Directory | None = None, *, prune: bool = False) -> Directory:
    """Return the directory after applying this document; raises Misconfigured with all errors."""
    document = read_document(remove_credentials(content))
    if isinstance(document, list):
        raise Misconfigured([_describe_error(fault) for fault in document])
    before = directory or Directory()
    found = make_plan(
        document,
        before,
        secrets={},
        fresh_ids=_steady_ids(str(sorted(document.organizations))),
        now_us=0,
        prune=prune,
        may_choose_ids=True,
    )
    if found.faults:
        raise Misconfigured([_describe_error(fault) for fault in found.faults])
    return directory_after(before, found.steps)


def remove_credentials(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without credentials; invalid parts are left for the reader to report."""
    organizations = content.get("organizations")
    if not isinstance(organizations, dict):
        return dict(content)
    return {
        **content,
        "organizations": {name: _open_organization(organization) for name, organization in organizations.items()},
    }


def _open_organization(organization: Any) -> Any:
    services = organization.get("services") if isinstance(organization, dict) else None
    if not isinstance(services, dict):
        return organization
    bare = {
        name: {key: value for key, value in service.items() if key != "credentials"} if isinstance(service, dict) else service
        for name, service in services.items()
    }  # fmt: skip
    return {**organization, "services": bare}


def _steady_ids(seed: str) -> Iterator[str]:
    """Yield GCIDs for services without one: the same for the same files."""
    number = 0
    while True:
        number += 1
        yield blake2b(f"{seed} {number}".encode(), digest_size=8).hexdigest()


def _describe_error(fault: DocumentError) -> str:
    return f"{fault.pointer}: {fault.detail}"
