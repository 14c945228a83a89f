"""A MIME entity: a header block, an empty line, a body; a whole message, or one part of a multipart.

Rule: an entity consists of views into the bytes it was read from. Only content in a transfer encoding is copied, when
it is read, and a signature can be checked over exactly the received bytes. The header is parsed completely before
there is an entity, so reading a header field never fails.
"""

from __future__ import annotations

import re

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime.fields import Fields, bare_id, first_of, list_tolerated, read_fields
from postroad.core.codecs.mime.transfer import IDENTITY, decode_content
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.errors import Refused

CUT_HEADER = "a header is not followed by an empty line"

# A header as nearly everyone writes it: whole lines that end in CRLF, the three that matter at most once each and
# without anything unusual in them. Whatever this does not match is left to the general reader, more than 200 lines too,
# because each line holds memory until the match ends.
_PLAIN_HEADER = re.compile(
    rb"(?:(?i:content-)(?:"
    rb"(?(1)(?!)|(?i:type):[ \t]*+([^\x00-\x08\x0a-\x1f\x7f]*+)(?<![ \t])\r\n)"
    rb"|(?(2)(?!)|(?i:transfer-encoding):[ \t]*+([0-9A-Za-z-]*+)\r\n)"
    rb"|(?(3)(?!)|(?i:id):[ \t]*+<([!-;=?-~\x80-\xff]*+)>\r\n))"
    rb"|(?!(?i:content-(?:type|transfer-encoding|id))[ \t]*+:)[!-9;-~]++:[^\x00-\x08\x0a-\x1f\x7f]*+\r\n"
    rb"){1,200}\r\n"
)
# The same for the order in which most programs write the three, and with nothing else beside them.
_USUAL_HEADER = re.compile(
    rb"(?i:content-type):[ \t]*+([^\x00-\x08\x0a-\x1f\x7f]*+)(?<![ \t])\r\n"
    rb"(?:(?i:content-transfer-encoding):[ \t]*+([0-9A-Za-z-]*+)\r\n|)"
    rb"(?:(?i:content-id):[ \t]*+<([!-;=?-~\x80-\xff]*+)>\r\n|)\r\n"
)
_SHORTEST_FIELD = 4  # bytes: a name, a colon, CRLF


class Entity(Struct, frozen=True, eq=False):
    head: bytes  # the header lines exactly as they came, without the empty line; b"" when there are none
    body: memoryview  # the content as it stands, its transfer encoding not undone
    raw: memoryview  # head, empty line and body exactly: what a signature covers
    content_type: str  # unfolded; "" when there is none
    transfer_encoding: str  # in lower case; "" when there is none
    content_id: str  # without its angle brackets; "" when there is none
    tolerated: tuple[str, ...] = ()

    def headers(self) -> Fields:
        """All headers in order, unfolded, a character for a byte (latin-1)."""
        return read_fields(self.head)

    def header(self, name: str) -> str:
        """The first header of that name, "" when there is none."""
        return first_of(read_fields(self.head), name)

    def data(self, limits: WireLimits = DEFAULT_LIMITS) -> Buffer:
        """The content with its transfer encoding undone; the view itself when there was none."""
        if self.transfer_encoding in IDENTITY:
            return self.body
        check_size(self.body, limits)
        return decode_content(self.body, self.transfer_encoding)


def read_entity(buffer: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Entity:
    """The entity that a buffer holds: header block, empty line, body."""
    check_size(buffer, limits)
    source = whole_bytes(buffer)
    return entity_between(source, memoryview(source), 0, len(source), limits)


def entity_of(head: bytes, body: Buffer) -> Entity:
    """Return an entity whose header arrived separately from its body (HTTP), or is missing; ``raw`` is the body alone."""
    view = memoryview(body)
    return _entity(head, view, view, ())


def entity_between(source: bytes, view: memoryview, start: int, stop: int, limits: WireLimits) -> Entity:
    """The entity in ``source[start:stop]``; ``view`` is a view of the whole source."""
    plain = _USUAL_HEADER.match(source, start, stop) or _PLAIN_HEADER.match(source, start, stop)
    begins = plain.end() if plain else 0
    if plain is None or begins - start > _SHORTEST_FIELD * limits.mime_headers:  # it may have too many
        return any_entity_between(source, view, start, stop, limits)
    kind, encoding, id_ = plain.groups(b"")
    return Entity(
        source[start : begins - 2],
        view[begins:stop],
        view[start:stop],
        kind.decode("latin-1"),
        encoding.decode("latin-1").lower(),
        id_.decode("latin-1"),
    )


def any_entity_between(source: bytes, view: memoryview, start: int, stop: int, limits: WireLimits) -> Entity:
    """The general reader: no header at all, folded lines, lines that end in LF, the same header twice."""
    ends, begins = _split(source, start, stop, limits)
    head = source[start:ends]
    try:
        number = len(read_fields(head))
    except Refused as refused:
        raise malformed(f"{refused.detail}; that header begins at byte {start}") from None
    if number > limits.mime_headers:
        raise too_complex(f"the header at byte {start} has more than {limits.mime_headers} fields")
    tolerated = list_tolerated(head) + ((CUT_HEADER,) if start < ends == begins else ())
    return _entity(head, view[begins:stop], view[start:stop], tolerated)


def _entity(head: bytes, body: memoryview, raw: memoryview, tolerated: tuple[str, ...]) -> Entity:
    fields = read_fields(head)
    encoding = first_of(fields, "content-transfer-encoding")
    return Entity(
        head=head,
        body=body,
        raw=raw,
        content_type=first_of(fields, "content-type"),
        transfer_encoding=encoding.partition("(")[0].partition(";")[0].strip().lower(),  # a comment, a stray semicolon
        content_id=bare_id(first_of(fields, "content-id")),
        tolerated=tolerated,
    )


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
