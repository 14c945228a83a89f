"""Verifies a backup: every file against the manifest, then the chain of the journal.

Rule: verify changes nothing and continues after an error. A backup that grows meanwhile is verified as far as the manifest
lists it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from postroad.adapters.journal.backup.contents import load_manifest
from postroad.adapters.journal.backup.folder import JOURNAL
from postroad.adapters.journal.backup.segment_writer import digest_file
from postroad.adapters.journal.segments import JournalDefect, VerificationProgress
from postroad.adapters.journal.segments import verify as verify_segments
from postroad.adapters.journal.segments.files import FileSystem, RealFiles


def verify_backup(path: Path, files: FileSystem | None = None) -> Iterator[VerificationProgress | JournalDefect]:
    """Check all files of a backup; yields progress, and each defect. Raises Misconfigured if the folder is no backup."""
    files = files or RealFiles()
    manifest = load_manifest(path, files)
    listed = [(f"{JOURNAL}/{one.name}", one.bytes, one.sha256, one.first) for one in manifest.segments]
    listed += [(one.path, one.bytes, one.sha256, 0) for one in manifest.secret_files]
    total, done = 2 * sum(length for _, length, _, _ in listed), 0
    for name, length, digest, first in listed:
        detail = _compare(files, path / name, length, digest)
        done += length
        if detail:
            yield JournalDefect("missing" if detail.startswith("the file") else "changed", name, 0, first, detail)
        yield VerificationProgress(done, total, 0)
    for found in verify_segments(path / JOURNAL, manifest.head, files):
        yield (
            found
            if isinstance(found, JournalDefect)
            else found._replace(done_bytes=done + found.done_bytes, total_bytes=done + found.total_bytes)
        )


def _compare(files: FileSystem, path: Path, length: int, digest: str) -> str:
    """Return how a file differs from the manifest; empty if it does not."""
    try:
        fd = files.open(path, writable=False)
    except FileNotFoundError:
        return "the file is missing"
    try:
        if files.size(fd) < length:
            return f"it has {files.size(fd)} bytes and should have {length}"
        found = digest_file(files, fd, length).hexdigest()
        return "" if found == digest else "its SHA-256 is not the one in backup.json"
    except OSError as error:
        return f"the disk cannot read it: {error.strerror}"
    finally:
        files.close(fd)
