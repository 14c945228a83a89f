"""A MIME entity: a header block, an empty line, a body; a whole message, or one part of a multipart.

Kept rule: an entity is views into the bytes it was read from. Nothing is copied until somebody asks for content that
was sent in a transfer encoding, and a signature can be checked over exactly the bytes that came.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.faults import too_complex
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime.fields import CUT_HEADER, Fields, read_fields
from postroad.core.codecs.mime.transfer import IDENTITY, decoded


class Entity(Struct, frozen=True):
    head: bytes  # whole header lines exactly as they came, without the empty line; b"" when there are none
    body: memoryview  # content as it stands, its transfer encoding not undone
    raw: memoryview  # head, empty line and body exactly: what a signature covers
    fields: Fields  # the header block read: names and values in order
    begins: int  # where the body begins in the buffer that was read; it ends len(body) later
    tolerated: tuple[str, ...] = ()

    def header(self, name: str) -> str:
        """The first header of that name, "" when there is none."""
        wanted = name.lower()
        for key, value in self.fields:
            if key.lower() == wanted:
                return value
        return ""

    def headers(self) -> Fields:
        return self.fields

    @property
    def content_type(self) -> str:
        return self.header("content-type")

    @property
    def transfer_encoding(self) -> str:
        """In lower case and without a comment or a stray semicolon behind it."""
        text = self.header("content-transfer-encoding")
        return text.partition("(")[0].partition(";")[0].strip().lower() if text else ""

    def data(self, limits: WireLimits = DEFAULT_LIMITS) -> Buffer:
        """The content with its transfer encoding undone; the view itself when there was none."""
        encoding = self.transfer_encoding
        if encoding in IDENTITY:
            return self.body
        check_size(self.body, limits)
        return decoded(self.body, encoding)


def read_entity(buffer: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Entity:
    """The entity that a buffer holds: header block, empty line, body."""
    check_size(buffer, limits)
    source = whole_bytes(buffer)
    return entity_between(source, memoryview(source), 0, len(source), limits)


def entity_between(source: bytes, view: memoryview, start: int, stop: int, limits: WireLimits) -> Entity:
    """The entity in ``source[start:stop]``; ``view`` is a view of the whole source."""
    head_ends, begins = _split(source, start, stop, limits)
    if head_ends == start:
        return Entity(b"", view[begins:stop], view[start:stop], (), begins)
    head = source[start:head_ends]
    fields, tolerated = read_fields(head, start, limits)
    if begins == head_ends:
        tolerated += (CUT_HEADER,)
    return Entity(head, view[begins:stop], view[start:stop], fields, begins, tolerated)


def _split(source: bytes, start: int, stop: int, limits: WireLimits) -> tuple[int, int]:
    """Where the header lines end and where the body begins; a block with no empty line is all header."""
    if source.startswith(b"\r\n", start, stop):
        return start, start + 2
    if source.startswith(b"\n", start, stop):
        return start, start + 1
    window = min(stop, start + limits.mime_header_bytes + 2)
    line_end = source.find(b"\n\r\n", start, window)
    bare = source.find(b"\n\n", start, window if line_end < 0 else line_end + 1)
    if bare >= 0:
        return bare + 1, bare + 2
    if line_end >= 0:
        return line_end + 1, line_end + 3
    if window < stop:
        raise too_complex(
            f"the header at byte {start} has more than {limits.mime_header_bytes} bytes, or no empty line comes after it"
        )
    return stop, stop
