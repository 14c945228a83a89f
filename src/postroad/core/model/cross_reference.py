"""Records of cross-reference maps in the journal.

As in all entries, fields are only added at the end, with a default.
"""

from __future__ import annotations

from msgspec import Struct


class Key(Struct, gc=False, frozen=True, array_like=True):
    """A record in a cross-reference map: its owner, and the name and value of its key."""

    service: str  # GCID
    name: str
    value: str


class CrossReferenceRecord(Struct, gc=False, frozen=True, array_like=True):
    """The values that one service stores under a key in a cross-reference map."""

    key: Key
    pairs: tuple[tuple[str, str], ...] = ()
