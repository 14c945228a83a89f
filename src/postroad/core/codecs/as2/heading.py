"""The AS2 headers of a message: sender, recipient, message ID, and the requested MDN.

These headers are neither signed nor encrypted: they identify the partner, but prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.codecs.as2.headers import Headers, check_message_id, fields_of, refuse_repeated
from postroad.core.codecs.as2.mdn_request import MdnRequest, read_mdn_request
from postroad.core.codecs.as2.names import unquote_name
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity, entity_of, write_head
from postroad.errors import Refused

_ONCE = (
    "as2-from",
    "as2-to",
    "message-id",
    "receipt-delivery-option",
    "disposition-notification-options",
    "content-type",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    sender: str  # bare names
    recipient: str
    message_id: str  # verbatim
    subject: str = ""
    wish: MdnRequest


def read_heading(headers: Headers) -> Heading:
    """Read the HTTP header fields; refused with ``as2.malformed`` if not even an MDN could be addressed."""
    return heading_in(distinct_fields(headers))


def distinct_fields(headers: Headers) -> dict[str, str]:
    """Return the fields by name; refuses an important field with two different values."""
    fields = fields_of(headers)
    if len(fields) != len(headers):
        refuse_repeated(headers, _ONCE)
    return fields


def heading_in(fields: dict[str, str]) -> Heading:
    for name in ("as2-from", "as2-to", "message-id"):
        if not fields.get(name):
            raise Refused(
                "as2.malformed", f"The header {name} is missing; an AS2 message has AS2-From, AS2-To, Message-ID"
            )
    return Heading(
        sender=unquote_name(fields["as2-from"]),
        recipient=unquote_name(fields["as2-to"]),
        message_id=check_message_id(fields["message-id"]),
        subject=fields.get("subject", ""),
        wish=read_mdn_request(fields),
    )


DOCUMENT_HEADERS = {
    "content-type": "Content-Type",
    "content-transfer-encoding": "Content-Transfer-Encoding",
    "content-disposition": "Content-Disposition",
    "content-description": "Content-Description",
    "content-language": "Content-Language",
    "content-location": "Content-Location",
    "content-id": "Content-ID",
}


def select_document_headers(fields: dict[str, str]) -> list[tuple[str, str]]:
    """Return the fields that describe the document, always in the same order.

    Rule: only these headers belong to the document, in both directions. All others belong to AS2, HTTP or a proxy. Fields
    are as ``fields_of`` returns them: the first value of each name, by its lower-case name.
    """
    return [(DOCUMENT_HEADERS[name], fields[name]) for name in DOCUMENT_HEADERS if name in fields]


def read_plain_entity(fields: dict[str, str], body: Buffer, limits: WireLimits) -> Entity:
    """Return the content of the request as an entity; ``raw`` is only the body, because no MIME header was sent."""
    check_size(body, limits)
    try:
        head = write_head(select_document_headers(fields))
    except ValueError:
        raise Refused("as2.malformed", "A header has control characters or is not Latin-1; remove them") from None
    return entity_of(head, body)
