"""A directory as versioned text, for processes that have no journal: Spark's workers, on this machine or on others.

Kept rules: what proves somebody's identity, and what somebody owes, stays at home: no worker needs it; the text is read and its
rules are compiled once for each process, however many pieces of work come with it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import KINDS, Directory

KEPT_AT_HOME = frozenset({"person", "credential", "invoice", "payment", "as2-stations"})
DIRECTORIES_CACHED = 8

_read = msgspec.json.Decoder(list[ObjectChange]).decode


class DirectoryText(NamedTuple):
    """``version`` is the digest of what is said, so equal texts are compiled once."""

    version: str
    number: int  # the directory's own version: an entry of the journal
    text: str


def text_of(directory: Directory) -> DirectoryText:
    objects = [
        ObjectChange(kind, key, version, msgspec.to_builtins(value))
        for (kind, key), version in sorted(directory.versions.items())
        if kind in KINDS and kind not in KEPT_AT_HOME and (value := directory.object(kind, key)) is not None
    ]
    text = msgspec.json.encode(objects)
    return DirectoryText(blake2b(text, digest_size=16).hexdigest(), directory.version, text.decode())


def directory_from(given: DirectoryText) -> Directory:
    """The directory, the same object whenever the same text is given in this process."""
    return _directory(given.version, given.number, given.text)


@lru_cache(maxsize=DIRECTORIES_CACHED)
def _directory(version: str, number: int, text: str) -> Directory:
    return Directory().changed(_read(text), number)
