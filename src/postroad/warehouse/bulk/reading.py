"""Pieces of archives read: every message in them, or why something in the place of one cannot be read.

Kept rule: a wire is decoded by the codec that the server would use for it; nothing that stands in a file gets out of here as an
exception, only that a file cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import form_of, message_in, own_form
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.mediation.nouns import Wire
from postroad.core.model.message import Message
from postroad.errors import Refused
from postroad.flow.mediate import posting_of
from postroad.warehouse.bulk.archive import Form, Piece, file_system
from postroad.warehouse.bulk.archived import Archived, Place, Unreadable
from postroad.warehouse.bulk.envelope_bodies import CutShort, envelopes_in
from postroad.warehouse.bulk.journals import shown
from postroad.warehouse.bulk.logged import Logged, posts

HINTS = {
    ".json": "application/json",
    ".xml": "application/xml",
    ".soap": "application/soap+xml",
    ".envelope": ENVELOPES,
}

Items = Iterator[Archived | Unreadable]


class Unsaid(Struct, frozen=True):
    """What archives leave open: who sent a message without From, and when messages are taken to be posted."""

    sender: str = ""
    at_us: int = 0


def read(piece: Piece, unsaid: Unsaid) -> Items:
    return _READERS[piece.form](piece, unsaid)


def _bytes(piece: Piece) -> bytes:
    system, path = file_system(piece.file)
    with system.open_input_file(path) as file:
        data: bytes = file.read()
        return data


def decoded(wire: bytes, codec: Codec, place: Place, unsaid: Unsaid) -> Archived | Unreadable:
    """The message in a wire, or why it cannot be read."""
    try:
        message = codec.decode_post(wire)
    except Refused as refusal:
        return Unreadable(place, refusal.code, refusal.detail, len(wire))
    return _archived(message, codec, place, unsaid, len(wire))


def _archived(message: Message, codec: Codec, place: Place, unsaid: Unsaid, size: int) -> Archived:
    return Archived(place, message.sender or unsaid.sender, unsaid.at_us, form_of(codec), size, message)


# --- lines ------------------------------------------------------------------------------------------------------------


def _lines(piece: Piece, unsaid: Unsaid) -> Items:
    for position, line in _whole_lines(piece):
        yield decoded(line, JSON_FORM, Place(piece.file, position), unsaid)


def _whole_lines(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in the piece, with their offsets; the last may end in the next piece, and is read to its end."""
    system, path = file_system(piece.file)
    with system.open_input_file(path) as file:
        position = max(piece.start - 1, 0)
        file.seek(position)
        data: bytes = file.read(piece.end - position)
        while not data.endswith(b"\n") and (more := file.read(1 << 16)):
            head, newline, _ = more.partition(b"\n")
            data += head + newline
    if piece.start:  # what stands before the first line's end began in the piece before
        passed = data.find(b"\n") + 1 or len(data)
        position, data = position + passed, data[passed:]
    for line in data.split(b"\n"):
        if line.strip():
            yield position, line
        position += len(line) + 1


# --- whole messages and envelopes -------------------------------------------------------------------------------------


def _message(piece: Piece, unsaid: Unsaid) -> Items:
    """The ending of a file's name is a hint at what it is, as a content type is for the server; its bytes decide."""
    wire, place = _bytes(piece), Place(piece.file)
    hint = next((kind for ending, kind in HINTS.items() if piece.file.lower().endswith(ending)), "")
    try:
        own = own_form(hint, wire)
        message = message_in(own, wire)
        if own is None or message is None:
            yield _plain(wire, place, unsaid)
        else:
            yield _archived(message, own.codec, place, unsaid, len(wire))
    except Refused as refusal:
        yield Unreadable(place, refusal.code, refusal.detail, len(wire))


def _plain(wire: bytes, place: Place, unsaid: Unsaid) -> Archived:
    """A message in a plain format, without anything beside it."""
    posting = posting_of(Wire((), wire))
    sender = posting.message.sender or unsaid.sender
    return Archived(place, sender, unsaid.at_us, posting.form, len(wire), posting.message, setting=posting.setting)


def _envelopes(piece: Piece, unsaid: Unsaid) -> Items:
    data = _bytes(piece)
    try:
        for position, envelope in envelopes_in(data):
            yield decoded(envelope, ENVELOPE_FORM, Place(piece.file, position), unsaid)
    except CutShort as fault:
        yield Unreadable(Place(piece.file, fault.position), "wire.malformed", str(fault), len(data) - fault.position)


# --- a journal --------------------------------------------------------------------------------------------------------


def _journal(piece: Piece, unsaid: Unsaid) -> Items:
    name = shown(piece.file)
    for logged in posts(piece.file, piece.start, piece.end):
        yield _made_again(logged, Place(name, logged.seq))


def _made_again(logged: Logged, place: Place) -> Archived | Unreadable:
    posted = logged.posted
    if not logged.is_whole:
        return Unreadable(place, "body.dropped", "The body is no longer kept, and rules may look at it", posted.size)
    try:
        message = logged.message
    except Exception as mistake:  # an entry of an unknown shape costs itself alone
        return Unreadable(place, "internal", f"{type(mistake).__name__}: {mistake}"[:500], posted.size)
    place_and_time = (place, posted.sender, posted.at_us, posted.form, posted.size)
    forwarded = posted.forwarded is not None
    return Archived(*place_and_time, message, posted.session, logged.setting, posted.shown_sender, forwarded)


_READERS: dict[Form, Callable[[Piece, Unsaid], Items]] = {
    Form.LINES: _lines,
    Form.MESSAGES: _message,
    Form.ENVELOPES: _envelopes,
    Form.JOURNAL: _journal,
}
