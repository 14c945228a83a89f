"""Reads the pieces of an archive: every message in them, or the reason why one cannot be read.

Rules: pieces are split by lengths alone, without reading payloads, so this costs the same for large messages as for
small ones. A wire is decoded by the codec that the server would use for it. No content of a file raises an exception,
only an unreadable file does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.native_formats import decode_native_post, detect_native_form, form_of
from postroad.core.mediation.model import Wire
from postroad.core.model.message import Message
from postroad.errors import Refused
from postroad.flow.stages.mediate import read_external_post
from postroad.warehouse.bulk.read.archive import (
    ArchivedMessage,
    ArchiveForm,
    ArchivePiece,
    ArchivePlace,
    UnreadableMessage,
    open_file_system,
)
from postroad.warehouse.bulk.read.journals import masked_name
from postroad.warehouse.bulk.read.logged_posts import LoggedPost, read_posts

# After the first byte: bytes of the length that follows, and what is added to that length.
_BINARY = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
           0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # fmt: skip
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4,
          0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}  # fmt: skip
_COUNTED = {
    0xDC: (2, 1),
    0xDD: (4, 1),
    0xDE: (2, 2),
    0xDF: (4, 2),
}  # arrays and maps: bytes of the count, values per item


class TruncatedEnvelopes(ValueError):
    """The file is damaged or incomplete from this position on."""

    def __init__(self, position: int, detail: str) -> None:
        super().__init__(detail)
        self.position = position


def read_envelopes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield every envelope with its offset; raises TruncatedEnvelopes at the first damage."""
    position = 0
    while position < len(data):
        following, count = _array(data, position)
        for _ in range(count):
            end = _end(data, following)
            yield following, data[following:end]
            following = end
        position = following


def _array(data: bytes, position: int) -> tuple[int, int]:
    first = data[position]
    if first >> 4 == 0x9:
        return position + 1, first & 0x0F
    if first in (0xDC, 0xDD):
        width = _COUNTED[first][0]
        return position + 1 + width, int.from_bytes(data[position + 1 : position + 1 + width], "big")
    raise TruncatedEnvelopes(position, "an array of envelopes should begin here, as bulk posts have them")


def _end(data: bytes, position: int) -> int:
    """Return the offset after the value that begins here."""
    begin, values, size = position, 1, len(data)
    while values:
        if position >= size:
            raise TruncatedEnvelopes(begin, "the file ends in the middle of an envelope")
        first = data[position]
        values -= 1
        position += 1
        if first < 0x80 or first >= 0xE0:
            continue
        if first < 0x90:
            values += 2 * (first & 0x0F)
        elif first < 0xA0:
            values += first & 0x0F
        elif first < 0xC0:
            position += first & 0x1F
        elif first in _FIXED:
            position += _FIXED[first]
        else:
            position, values = _long(data, position, first, values, begin)
    if position > size:
        raise TruncatedEnvelopes(begin, "the file ends in the middle of an envelope")
    return position


def _long(data: bytes, position: int, first: int, values: int, begin: int) -> tuple[int, int]:
    """The offset behind a long value's length, or behind its bytes where it holds no others; and how many are still to come."""
    width, more = _BINARY.get(first) or _COUNTED.get(first) or (0, 0)
    if not width:
        raise TruncatedEnvelopes(begin, "there is a byte that msgpack does not use")
    length = int.from_bytes(data[position : position + width], "big")
    position += width
    return (position + length + more, values) if first in _BINARY else (position, values + length * more)


HINTS = {
    ".json": "application/json",
    ".xml": "application/xml",
    ".soap": "application/soap+xml",
    ".envelope": ENVELOPES,
}

Items = Iterator[ArchivedMessage | UnreadableMessage]


class ArchiveDefaults(Struct, frozen=True):
    """Defaults for an archive: the sender of messages without From, and the time of posting."""

    sender: str = ""
    at_us: int = 0


def read_piece(piece: ArchivePiece, unsaid: ArchiveDefaults) -> Items:
    return _READERS[piece.form](piece, unsaid)


def _bytes(piece: ArchivePiece) -> bytes:
    system, path = open_file_system(piece.file)
    with system.open_input_file(path) as file:
        data: bytes = file.read()
        return data


def decode_wire(
    wire: bytes, codec: Codec, place: ArchivePlace, unsaid: ArchiveDefaults
) -> ArchivedMessage | UnreadableMessage:
    """Decode the message in a wire, or return why it cannot be decoded."""
    try:
        message = codec.decode_post(wire)
    except Refused as refusal:
        return UnreadableMessage(place, refusal.code, refusal.detail, len(wire))
    return _archived(message, codec, place, unsaid, len(wire))


def _archived(
    message: Message, codec: Codec, place: ArchivePlace, unsaid: ArchiveDefaults, size: int
) -> ArchivedMessage:
    return ArchivedMessage(place, message.sender or unsaid.sender, unsaid.at_us, form_of(codec), size, message)


# --- lines ------------------------------------------------------------------------------------------------------------


def _lines(piece: ArchivePiece, unsaid: ArchiveDefaults) -> Items:
    for position, line in _whole_lines(piece):
        yield decode_wire(line, JSON_FORM, ArchivePlace(piece.file, position), unsaid)


def _whole_lines(piece: ArchivePiece) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in the piece, with their offsets; the last may end in the next piece, and is read to its end."""
    system, path = open_file_system(piece.file)
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


def _message(piece: ArchivePiece, unsaid: ArchiveDefaults) -> Items:
    """Read a file as one message; the file suffix is a hint like a content type, the bytes decide."""
    wire, place = _bytes(piece), ArchivePlace(piece.file)
    hint = next((kind for ending, kind in HINTS.items() if piece.file.lower().endswith(ending)), "")
    try:
        own = detect_native_form(hint, wire)
        message = decode_native_post(own, wire)
        if own is None or message is None:
            yield _plain(wire, place, unsaid)
        else:
            yield _archived(message, own.codec, place, unsaid, len(wire))
    except Refused as refusal:
        yield UnreadableMessage(place, refusal.code, refusal.detail, len(wire))


def _plain(wire: bytes, place: ArchivePlace, unsaid: ArchiveDefaults) -> ArchivedMessage:
    """Decode a message in an external format."""
    posting = read_external_post(Wire((), wire))
    sender = posting.message.sender or unsaid.sender
    return ArchivedMessage(
        place, sender, unsaid.at_us, posting.form, len(wire), posting.message, wrapper=posting.wrapper
    )


def _envelopes(piece: ArchivePiece, unsaid: ArchiveDefaults) -> Items:
    data = _bytes(piece)
    try:
        for position, envelope in read_envelopes(data):
            yield decode_wire(envelope, ENVELOPE_FORM, ArchivePlace(piece.file, position), unsaid)
    except TruncatedEnvelopes as fault:
        yield UnreadableMessage(
            ArchivePlace(piece.file, fault.position), "wire.malformed", str(fault), len(data) - fault.position
        )


# --- a journal --------------------------------------------------------------------------------------------------------


def _journal(piece: ArchivePiece, unsaid: ArchiveDefaults) -> Items:
    name = masked_name(piece.file)
    for logged in read_posts(piece.file, piece.start, piece.end):
        yield _rebuild_logged(logged, ArchivePlace(name, logged.seq))


def _rebuild_logged(logged: LoggedPost, place: ArchivePlace) -> ArchivedMessage | UnreadableMessage:
    posted = logged.posted
    if not logged.is_whole:
        return UnreadableMessage(
            place, "body.dropped", "The body is no longer stored, and rules may look at it", posted.size
        )
    try:
        message = logged.message
    except Exception as mistake:  # an entry of an unknown shape costs itself alone
        return UnreadableMessage(place, "internal", f"{type(mistake).__name__}: {mistake}"[:500], posted.size)
    place_and_time = (place, posted.sender, posted.at_us, posted.form, posted.size)
    forwarded = posted.forwarded is not None
    return ArchivedMessage(*place_and_time, message, posted.session, logged.wrapper, posted.shown_sender, forwarded)


_READERS: dict[ArchiveForm, Callable[[ArchivePiece, ArchiveDefaults], Items]] = {
    ArchiveForm.LINES: _lines,
    ArchiveForm.MESSAGES: _message,
    ArchiveForm.ENVELOPES: _envelopes,
    ArchiveForm.JOURNAL: _journal,
}
