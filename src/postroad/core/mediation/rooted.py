"""What SOAP, SOAP with attachments and DIME share: an envelope at the root of the message.

The document of an envelope is the child of its Body; see ``codecs/soap/plain.py`` for envelopes that say more. A message of several
parts that no envelope holds together gets one of the network's: ``pr:Message`` in its Body, with the parts in it or beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import XML
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.names import SOAP_12, ours
from postroad.core.codecs.soap.parts import read_parts, write_part
from postroad.core.codecs.soap.plain import PlainEnvelope, looks_like_envelope, read_plain, wrapped
from postroad.core.codecs.xml import is_embeddable
from postroad.core.mediation.entities import has_own_id, id_of_uri, read_line
from postroad.core.mediation.nouns import Outgoing
from postroad.core.mediation.setting import Piece, Slot, cut, filled
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, Part
from postroad.errors import Refused

ROOTED = (Format.SOAP, Format.SWA, Format.DIME)
POST, TOGETHER = ours("Post"), ours("Message")
EMPTY = b"<pr:Message/>"
_DECLARATION = re.compile(
    rb"""<\?xml(?:\s(?!encoding)\w+\s*=\s*["'][^"']*["'])*(?:\sencoding\s*=\s*["']utf-8["'])?[^?"']*\?>""", re.I
)


class Root(NamedTuple):
    """What an envelope at the root of a message holds."""

    documents: tuple[Part, ...]
    header: Message | None  # what it says to the network
    envelope: bytes  # without the network's own block; empty where it is nothing but a wrapper of the network's, or the document itself
    is_as_came: bool  # nothing was cut out of it
    holds_together: bool  # it says only that the parts beside it belong together

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return cut(self.envelope, [(self.documents[0].data, Slot(0))]) if self.envelope else ()


class Envelope(NamedTuple):
    """An envelope to be given as the root."""

    version: SoapCodec
    data: bytes
    id: str  # by which others may refer to it; empty: none


def is_envelope(body: bytes) -> bool:
    """Whether this is a SOAP envelope, of whatever content."""
    if not looks_like_envelope(body):
        return False
    try:
        read_plain(body)
    except Refused:
        return False
    return True


def take_root(body: bytes, limits: WireLimits = DEFAULT_LIMITS, id: str = "") -> Root:
    """The documents of the envelope; ``id`` is how the wire calls the root."""
    came = read_plain(body, limits)
    plain = came.without_network_header()
    is_as_came = plain is came
    if not plain.says_more and plain.child.name == POST:
        message = came.version.decode_post(body, limits)
        return Root(message.parts, message, b"", is_as_came, False)
    header = came.network_header(limits)
    if not plain.says_more and plain.child.name == TOGETHER:
        documents = _together(plain, limits)
        return Root(documents, header, b"", is_as_came, not documents)
    name = read_line(id_of_uri(id) or "1", "id", limits)
    if plain.says_more:
        data = body if is_as_came else plain.utf8
        return Root((Part(id=name, content_type=plain.media_type, data=data),), header, b"", is_as_came, False)
    return Root((Part(id=name, content_type=XML, data=plain.document),), header, plain.utf8, is_as_came, False)


def _together(plain: PlainEnvelope, limits: WireLimits) -> tuple[Part, ...]:
    element = plain.version.operation(plain.utf8, limits)
    inside = element.fields(Document=limits.parts, Attachment=limits.parts)
    return read_parts(inside["Document"], inside["Attachment"], limits)


def own_envelope(message: Outgoing) -> Envelope | None:
    """The envelope that the message came with, or that its first document is; None when it has none."""
    if not message.parts:
        return None
    first = message.parts[0]
    name = first.id if has_own_id(first, 1) else ""
    setting = message.in_setting(*ROOTED)
    if setting is not None and setting.envelope:
        data = b"".join(filled(setting.envelope, message.parts))
        return Envelope(_version(data), data, name)
    if not first.attachment and is_envelope(first.data):
        return Envelope(_version(first.data), first.data, name)
    return None


def made_envelope(message: Outgoing) -> Envelope | None:
    """A new envelope around the first document, where that can stand in a Body; None when it cannot."""
    first = message.parts[0] if message.parts else None
    if first is None or first.attachment or media_type_of(first.content_type) not in (XML, "text/xml"):
        return None
    data = _bare(first.data)
    if not is_embeddable(data):
        return None
    return Envelope(SOAP11, wrapped(data), first.id if has_own_id(first, 1) else "")


def _bare(data: bytes) -> bytes:
    """A document without what may stand before and behind its root: its XML declaration and white space."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    declaration = _DECLARATION.match(text)
    return text[declaration.end() if declaration else 0 :].strip(b" \t\r\n")


def holding_together(parts: Sequence[Part] = ()) -> bytes:
    """The network's envelope for a message of several parts, with these in it."""
    inside: Iterable[bytes] = map(write_part, parts)
    return wrapped(b"<pr:Message>%b</pr:Message>" % b"".join(inside) if parts else EMPTY)


def _version(envelope: bytes) -> SoapCodec:
    return SOAP12 if SOAP_12.encode() in envelope[:2_048] else SOAP11
