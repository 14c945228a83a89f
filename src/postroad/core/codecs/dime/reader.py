"""Recognises and reads DIME: payloads are views into the message; only chunked ones are joined.

Rules: every length is checked against the available bytes before anything is extracted. Input that two readers could
interpret as two different messages is refused with its byte offset; known errors of existing writers are accepted and
noted.
"""

from __future__ import annotations

import re

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.dime.options import only_headers, read_headers_in
from postroad.core.codecs.dime.records import (
    FIRST,
    HEADER,
    HEADER_BYTES,
    LAST,
    MORE,
    VERSION,
    DimeMessage,
    DimeRecord,
    TypeFormat,
    padded_length,
)
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.errors import Refused

MAX_RECORDS = 10_000  # chunks included
_RESERVED_FORMATS = 11  # treated as unknown
_FORMATS: tuple[TypeFormat, ...] = (*TypeFormat, *(TypeFormat.UNKNOWN,) * _RESERVED_FORMATS)
_NAMED = (TypeFormat.MEDIA_TYPE, TypeFormat.URI)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def read_dime(buffer: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> DimeMessage:
    """Return the payloads of a complete message, in order."""
    if len(buffer) > limits.body_bytes:
        raise Refused("wire.too-large", f"the body has {len(buffer)} bytes; at most {limits.body_bytes} are allowed")
    return _Reading(memoryview(buffer), limits).message()


class _Payload:
    """A chunked payload that is not complete yet."""

    __slots__ = ("chunks", "headers", "id", "options", "type", "type_format")

    def __init__(self, whole: DimeRecord) -> None:
        self.type_format, self.type, self.id = whole.type_format, whole.type, whole.id
        self.chunks: list[Buffer] = [whole.data]
        self.options, self.headers = [whole.options], whole.headers

    def join(self) -> DimeRecord:
        return DimeRecord(
            type_format=self.type_format,
            type=self.type,
            id=self.id,
            data=b"".join(self.chunks),
            chunks=tuple(map(len, self.chunks)),
            options=b"".join(self.options),
            headers=self.headers,
        )


class _Reading:
    """One pass over a message."""

    __slots__ = ("_limits", "_noted", "_payload", "_records", "_size", "_view")

    def __init__(self, view: memoryview, limits: WireLimits) -> None:
        self._view, self._size, self._limits = view, len(view), limits
        self._records: list[DimeRecord] = []
        self._payload: _Payload | None = None
        self._noted: dict[str, int] = {}

    def message(self) -> DimeMessage:
        at, flags, count = 0, 0, 0
        while not flags & LAST:
            count += 1
            if count > MAX_RECORDS:
                raise too_complex(f"byte {at}: the message has more than {MAX_RECORDS} DIME records")
            at, flags = self._read_record(at)
        if at < self._size:
            raise malformed(f"byte {at}: {self._size - at} bytes follow the last DIME record (flag ME)")
        tolerated = tuple(f"{what} (first at byte {first})" for what, first in self._noted.items())
        return DimeMessage(records=tuple(self._records), tolerated=tolerated)

    def _read_record(self, at: int) -> tuple[int, int]:
        """Read the record that begins here; returns the position of the next one, and this one's flags."""
        if self._size - at < HEADER_BYTES:
            raise self._cut_short(at)
        flags, kind, *lengths = HEADER.unpack_from(self._view, at)
        if flags >> 3 != VERSION or kind & 15 or (at == 0) is not bool(flags & FIRST) or flags & 3 == LAST | MORE:
            raise malformed(f"byte {at}: {_fault_of(flags, kind)}")
        fields, end = self._fields(at, lengths)
        if self._payload is None:
            self._begin(at, flags, kind >> 4, fields)
        else:
            self._continue(self._payload, at, flags, kind >> 4, fields)
        return end, flags

    def _cut_short(self, at: int) -> Refused:
        if at >= self._size and at:
            return malformed(f"byte {at}: the message ends, but no DIME record was marked as the last one (flag ME)")
        left = self._size - at
        return malformed(f"byte {at}: a DIME record begins with {HEADER_BYTES} bytes, and only {left} are there")

    def _fields(self, at: int, lengths: list[int]) -> tuple[list[memoryview], int]:
        """Return options, id, type and data, and the end of the record."""
        view, begin = self._view, at + HEADER_BYTES
        content_end, fields = begin, []
        for length in lengths:
            end = begin + length
            fields.append(view[begin:end])
            if length:
                content_end, begin = end, (end + 3) & ~3  # a record begins at a multiple of 4
                if begin != end and any(view[end:begin]):
                    self._noted.setdefault("padding is not zero", end)
        if content_end > self._size:
            says, there = content_end - at, self._size - at
            raise malformed(f"byte {at}: a DIME record specifies {says} bytes, but only {there} are there")
        if begin > self._size:
            self._noted.setdefault("padding is missing at the end", content_end)
            begin = self._size
        return fields, begin

    def _begin(self, at: int, flags: int, number: int, fields: list[memoryview]) -> None:
        options, id_, type_, data = fields
        type_format = _FORMATS[number]
        if type_format is TypeFormat.UNCHANGED:
            raise malformed(f"byte {at}: a DIME record continues another one (type format 0), but none is unfinished")
        if type_format is TypeFormat.NONE and (type_ or data):
            raise malformed(f"byte {at}: a DIME record of type format 4 (none) has a type or data")
        if len(self._records) >= self._limits.parts:
            raise too_complex(f"byte {at}: the message has more than {self._limits.parts} parts")
        if options and not only_headers(options):
            self._noted.setdefault("options were skipped", at)
        named = self._text(type_, at, "type")
        record = DimeRecord(
            type_format=self._type_format(number, named, at),
            type=named,
            id=self._id(id_, at),
            data=data,
            options=bytes(options),
            headers=read_headers_in(options) if options else (),
        )
        if flags & MORE:
            self._payload = _Payload(record)
        else:
            self._records.append(record)

    def _continue(self, payload: _Payload, at: int, flags: int, number: int, fields: list[memoryview]) -> None:
        options, id_, type_, data = fields
        if number or id_ or type_:
            raise malformed(f"byte {at}: a DIME chunk that continues a payload has a type or an id of its own")
        if payload.type_format is TypeFormat.NONE and data:
            raise malformed(f"byte {at}: a DIME record of type format 4 (none) has data")
        if options:
            self._noted.setdefault("options were skipped", at)
            payload.options.append(bytes(options))
        payload.chunks.append(data)
        if not flags & MORE:
            self._records.append(payload.join())
            self._payload = None

    def _type_format(self, number: int, named: str, at: int) -> TypeFormat:
        type_format = _FORMATS[number]
        if number > TypeFormat.NONE:
            self._noted.setdefault(f"type format {number} is reserved and was read as unknown", at)
        elif type_format is TypeFormat.UNKNOWN and named:
            self._noted.setdefault("type format 3 (unknown) has a type", at)
        elif type_format in _NAMED and not named:
            self._noted.setdefault(f"type format {number} has no type and was read as unknown", at)
            return TypeFormat.UNKNOWN
        return type_format

    def _id(self, raw: memoryview, at: int) -> str:
        text = self._text(raw, at, "id")
        if text and not _SCHEME.match(text):
            self._noted.setdefault("an id is not a URI", at)
        return text

    def _text(self, raw: memoryview, at: int, what: str) -> str:
        try:
            text = str(raw, "utf-8")
        except UnicodeDecodeError:
            raise malformed(f"byte {at}: the {what} of a DIME record is neither ASCII nor UTF-8") from None
        if not text.isprintable() and _CONTROL.search(text):
            raise malformed(f"byte {at}: the {what} of a DIME record has a control character")
        return text


def _fault_of(flags: int, kind: int) -> str:
    """Describe the error in the first two bytes of a record."""
    if flags >> 3 != VERSION:
        return f"this is not a DIME record of version 1 (version {flags >> 3})"
    if kind & 15:
        return "the reserved bits of a DIME record are not zero"
    if flags & 3 == LAST | MORE:
        return "a DIME record is marked as the last one (ME) and as continued (CF)"
    return "only the first DIME record may and must be marked as the first one (flag MB)"


_SIGNS: dict[int, bytes] = {
    TypeFormat.MEDIA_TYPE: b"/",
    TypeFormat.URI: b":",
}  # required character in a type of that format


def looks_like_dime(buffer: Buffer) -> bool:
    """Return True if a DIME message begins here and ends, or continues with another record. Never raises."""
    if len(buffer) < HEADER_BYTES:
        return False
    flags, kind, options, id_, type_, data = HEADER.unpack_from(buffer)
    if flags >> 3 != VERSION or not flags & FIRST or flags & 3 == LAST | MORE or kind & 15:
        return False
    type_at = HEADER_BYTES + padded_length(options) + padded_length(id_)
    if not _is_type(kind >> 4, bytes(buffer[type_at : type_at + type_]), type_, data):
        return False
    end = type_at + padded_length(type_) + padded_length(data)
    return _ends_at(end, buffer) if flags & LAST else _goes_on_at(end, buffer)


def _is_type(type_format: int, found: bytes, length: int, data: int) -> bool:
    if len(found) < length:
        return False
    if type_format == TypeFormat.NONE:
        return not length and not data
    sign = _SIGNS.get(type_format)
    return type_format == TypeFormat.UNKNOWN or (sign is not None and sign in found)


def _ends_at(end: int, buffer: Buffer) -> bool:
    return 0 <= end - len(buffer) <= 3  # the last padding may be missing


def _goes_on_at(end: int, buffer: Buffer) -> bool:
    return end + HEADER_BYTES <= len(buffer) and buffer[end] >> 3 == VERSION and not buffer[end] & FIRST
