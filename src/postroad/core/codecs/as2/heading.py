"""The AS2 headers of a message: sender, recipient, message ID, and the requested MDN.

Everything here stands outside of signature and encryption, so it finds the partner and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.codecs.as2.headers import Headers, check_message_id, fields_of, refuse_repeated
from postroad.core.codecs.as2.mdn_request import MdnRequest, read_mdn_request
from postroad.core.codecs.as2.names import unquote_name
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
    """From the header fields of the HTTP request; refused with ``as2.malformed`` when no MDN can answer it either."""
    return heading_in(distinct_fields(headers))


def distinct_fields(headers: Headers) -> dict[str, str]:
    """Returns the fields by name; refuses an important field with two different values."""
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
