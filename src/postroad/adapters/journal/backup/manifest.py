"""The manifest of a backup, ``backup.json``: the journal's head, and each file with its length and SHA-256.

Rule: only the first ``bytes`` bytes of a file belong to the backup. What follows them was written by a run that did not end.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import msgspec
from msgspec import Struct

from postroad.adapters.journal.segments.catalog import SegmentName
from postroad.adapters.journal.segments.frame import EMPTY
from postroad.errors import Misconfigured
from postroad.ports import JournalHead

MANIFEST = "backup.json"
FORMAT = 2  # 1: files with secrets have no name of their own in the backup


class BackupSegment(Struct, frozen=True, kw_only=True):
    """A segment file of the backup: its first and last entry, and the chain value after the last one."""

    name: str
    bytes: int
    sha256: str
    first: int
    last: int
    chain: str

    @property
    def head(self) -> JournalHead:
        return JournalHead(self.last, bytes.fromhex(self.chain))


class SecretFile(Struct, frozen=True, kw_only=True):
    """A file with secrets: its path in the data folder, and in the backup."""

    name: str
    bytes: int
    sha256: str
    file: str = ""  # its path in the backup; empty in format 1, where it is the name

    @property
    def path(self) -> str:
        return self.file or self.name


class BackupManifest(Struct, frozen=True, kw_only=True):
    """The contents of ``backup.json``."""

    format: int = FORMAT
    network: str = ""  # identifies the journal: a digest of its first entry
    acceptance: str = "local"  # of the network that was copied
    version: str = ""  # of the program that made the backup
    made_at: str = ""
    level: int = 0  # the network level; 0: unknown, because there was no index, or the program knew no levels
    entries: int = 0  # number of the last entry
    chain: str = EMPTY.chain.hex()  # the chain value after it
    secrets: str = "none"  # sealed, plain or none
    secret_files: tuple[SecretFile, ...] = ()
    segments: tuple[BackupSegment, ...] = ()

    @property
    def head(self) -> JournalHead:
        return JournalHead(self.entries, bytes.fromhex(self.chain))

    def find(self, first: int) -> BackupSegment | None:
        """Return the segment that begins with this entry."""
        return next((one for one in self.segments if one.first == first), None)

    def with_segments(self, segments: Iterable[BackupSegment]) -> BackupManifest:
        """Return the manifest with these segments added, or replaced where one begins with the same entry."""
        by_first = {one.first: one for one in self.segments} | {one.first: one for one in segments}
        ordered = tuple(by_first[first] for first in sorted(by_first))
        entries, chain = (ordered[-1].last, ordered[-1].chain) if ordered else (0, EMPTY.chain.hex())
        return msgspec.structs.replace(self, segments=ordered, entries=entries, chain=chain)


class DueSegment(Struct, frozen=True):
    """A segment to be copied up to entry ``last``; ``is_followed``: the backup contains a later one."""

    name: SegmentName
    last: int
    is_followed: bool


def find_due_segments(segments: list[SegmentName], durable_seq: int, manifest: BackupManifest) -> list[DueSegment]:
    """Return the segments that the backup lacks, has in another form, or has only in part."""
    due: list[DueSegment] = []
    by_first = {segment.first: segment for segment in manifest.segments}
    for place, segment in enumerate(segments):
        if segment.first_seq > durable_seq:
            break
        following = segments[place + 1].first_seq if place + 1 < len(segments) else durable_seq + 1
        known = by_first.get(segment.first_seq)
        last = min(durable_seq, following - 1)
        if known is None or (known.name, known.last) != (segment.name, last):
            due.append(DueSegment(segment, last, following <= durable_seq))
    return due


def identify_network(first_facts: bytes) -> str:
    """Return the text that identifies a journal in backups, from its first entry."""
    return sha256(first_facts).hexdigest()[:16]


def encode_manifest(manifest: BackupManifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode_manifest(data: bytes, where: str) -> BackupManifest:
    """Decode ``backup.json``; raises Misconfigured if it is damaged or from a newer version."""
    try:
        found = msgspec.json.decode(data, type=BackupManifest)
        bytes.fromhex(found.chain)
    except (msgspec.DecodeError, ValueError) as error:
        raise Misconfigured([f"backup: {where} cannot be read: {error}; use another copy of the backup"]) from None
    if found.format > FORMAT:
        raise Misconfigured(
            [f"backup: {where} has format {found.format}, and this program reads up to {FORMAT}; use a newer postroad"]
        )
    return found
