"""Writes an MDN for people and programs, signed if the sender requested it.

Rule: an MDN states that the network has received and checked the message, never that a service has received it. The
names and the id are the message's own; names are unquoted once and quoted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from postroad.core.codecs.as2.dispositions import Disposition
from postroad.core.codecs.as2.headers import check_message_id, date_value
from postroad.core.codecs.as2.heading import Heading
from postroad.core.codecs.as2.mic import Mic, mic_over
from postroad.core.codecs.as2.multipart_signed import CRLF, write_signed
from postroad.core.codecs.as2.names import quote_name
from postroad.core.codecs.as2.outgoing_message import VERSION, Fields
from postroad.core.codecs.as2.partners import As2Identity
from postroad.core.codecs.mime import make_boundary, write_head, write_multipart

REPORTING_UA = "postroad"
_TEXT = write_head([("Content-Type", "text/plain; charset=us-ascii"), ("Content-Transfer-Encoding", "7bit")])
_FIELDS = write_head([
    ("Content-Type", "message/disposition-notification"), ("Content-Transfer-Encoding", "7bit"),
])  # fmt: skip
_TAKEN = "The message was received, and its security and integrity were verified. Its delivery continues from here."
_NOT_TAKEN = "The message was not accepted. The disposition below has the reason; nothing of it was forwarded."


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltMdn:
    headers: Fields  # of the HTTP answer, or of the request that delivers the MDN later
    body: bytes


def build_mdn(
    heading: Heading,
    own: As2Identity,
    *,
    disposition: Disposition,
    mic: Mic | None,
    at: datetime,
    message_id: str,
    boundary_seed: bytes,
) -> BuiltMdn:
    """Return the MDN for the message with this heading; ``own`` signs it. ``message_id`` is the MDN's, with its brackets."""
    content_type, body = _report(heading, disposition, mic, boundary_seed)
    if heading.wish.signed:
        head = write_head([("Content-Type", content_type)])
        signed = mic_over((head, CRLF, body), heading.wish.digest or (mic.algorithm if mic else "sha256"))
        content_type, pieces = write_signed(head, body, own.signer, signed, at=at, seed=b"signed " + boundary_seed)
        body = b"".join(pieces)
    headers = (
        ("AS2-Version", VERSION),
        ("AS2-From", quote_name(heading.recipient)),
        ("AS2-To", quote_name(heading.sender)),
        ("Message-ID", check_message_id(message_id)),
        ("Date", date_value(at)),
        ("Subject", "Message Disposition Notification"),
        ("MIME-Version", "1.0"),
        ("Content-Type", content_type),
    )
    return BuiltMdn(headers=headers, body=body)


def _report(heading: Heading, disposition: Disposition, mic: Mic | None, seed: bytes) -> tuple[str, bytes]:
    """multipart/report: the Content-Type and the body."""
    text = f"{_TAKEN if disposition.accepted else _NOT_TAKEN}\r\n".encode()
    fields = _notification(heading, disposition, mic)
    boundary = make_boundary((text, fields), b"report " + seed)
    content_type = f'multipart/report; report-type=disposition-notification; boundary="{boundary.decode()}"'
    return content_type, b"".join(write_multipart(((_TEXT, text), (_FIELDS, fields)), boundary))


def _notification(heading: Heading, disposition: Disposition, mic: Mic | None) -> bytes:
    recipient = quote_name(heading.recipient)
    received = f"Received-Content-MIC: {mic}\r\n" if mic else ""
    return (
        f"Reporting-UA: {REPORTING_UA}\r\n"
        f"Original-Recipient: rfc822; {recipient}\r\n"
        f"Final-Recipient: rfc822; {recipient}\r\n"
        f"Original-Message-ID: {check_message_id(heading.message_id)}\r\n"
        f"Disposition: {disposition}\r\n{received}"
    ).encode("ascii")
