"""A message in an archive: what was posted, by whom and when, and the place where it lies."""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.message import Message


class Place(Struct, gc=False, frozen=True):
    """Where a message lies; ``position`` is a byte offset in a file of lines or envelopes, an entry's number in a journal."""

    file: str
    position: int = 0


class Archived(Struct, gc=False, frozen=True):
    """A message that could be read."""

    place: Place
    sender: str  # GCID or address
    at_us: int  # when it was posted, or is taken to be
    form: str
    size: int  # of the wire
    message: Message
    session: str = ""  # of a message that a network has accepted
    setting: bytes = b""  # how it was wrapped, where it came in a plain format
    shown_sender: str = ""  # GCID, where receivers see another than the sender
    forwarded: bool = False  # by an exchange or a model: a copy of a message that was posted to it


class Unreadable(Struct, gc=False, frozen=True):
    """Something at the place of a message that cannot be read, and why."""

    place: Place
    code: str
    detail: str
    size: int = 0
