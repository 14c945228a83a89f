"""Builds a message to a partner: compressed, signed and encrypted as agreed, with the MIC that must be returned.

Rules: the document is sent unchanged, byte for byte. The same arguments make the same bytes, except for an encrypted
key, to which OpenSSL adds random bytes. No name, id, subject or document header can inject a header.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postroad.core.codecs.as2.headers import check_message_id, date_value, fields_of, require_printable, subject_value
from postroad.core.codecs.as2.heading import select_document_headers
from postroad.core.codecs.as2.mdn_request import options_value
from postroad.core.codecs.as2.mic import Mic, mic_over
from postroad.core.codecs.as2.multipart_signed import CRLF, write_signed
from postroad.core.codecs.as2.names import quote_name
from postroad.core.codecs.as2.partners import As2Identity, PartnershipTerms
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import compress, encrypt
from postroad.core.codecs.mime import read_entity, write_head
from postroad.errors import Misconfigured, Refused

VERSION = "1.2"
Fields = tuple[tuple[str, str], ...]
_UNNAMED = write_head([("Content-Type", "application/octet-stream"), ("Content-Transfer-Encoding", "binary")])


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """The values of a message that are needed to check its MDN."""

    message_id: str
    sender: str
    recipient: str
    mic: Mic
    mdn_signed: bool  # whether the MDN must be signed


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltMessage:
    headers: Fields  # headers of the HTTP request
    body: bytes
    sent: SentMessage


@dataclass(frozen=True, slots=True)
class _Content:
    """A header and its body; each layer wraps them in a new one."""

    head: bytes
    body: Buffer

    @property
    def raw(self) -> tuple[Buffer, ...]:
        return (self.head, CRLF, self.body)


def _pkcs7(smime_type: str, file_name: str) -> bytes:
    return write_head((
        ("Content-Type", f'application/pkcs7-mime; smime-type={smime_type}; name="{file_name}"'),
        ("Content-Transfer-Encoding", "binary"),
        ("Content-Disposition", f'attachment; filename="{file_name}"'),
    ))  # fmt: skip


_COMPRESSED = _pkcs7("compressed-data", "smime.p7z")
_ENCRYPTED = _pkcs7("enveloped-data", "smime.p7m")
_ENCRYPTED_AND_SEALED = _pkcs7("authEnveloped-data", "smime.p7m")  # encrypted by an authenticating cipher


def build(
    entity_head: bytes,
    entity_body: Sequence[Buffer],
    own: As2Identity,
    partner: As2Identity,
    agreement: PartnershipTerms,
    *,
    message_id: str,
    at: datetime,
    boundary_seed: bytes,
    randomness: Callable[[int], bytes],
    subject: str = "",
) -> BuiltMessage:
    """Build an AS2 message. ``entity_head`` is complete header lines, or empty; ``message_id`` includes its brackets."""
    document = _Content(_checked_head(entity_head), entity_body[0] if len(entity_body) == 1 else b"".join(entity_body))
    content, mic = _signed(document, own, agreement, at, boundary_seed)
    if agreement.encrypt:
        content = _Content(
            _ENCRYPTED_AND_SEALED if agreement.encrypt.endswith("-gcm") else _ENCRYPTED,
            encrypt(
                content.raw, (partner.recipient,), cipher=agreement.encrypt, oaep=agreement.oaep, randomness=randomness
            ),
        )
    headers = (
        ("AS2-Version", VERSION),
        ("AS2-From", quote_name(own.name)),
        ("AS2-To", quote_name(partner.name)),
        ("Message-ID", check_message_id(message_id)),
        ("Date", date_value(at)),
        *((("Subject", subject_value(subject)),) if subject else ()),
        ("MIME-Version", "1.0"),
        ("EDIINT-Features", "multiple-attachments"),
        *_wish(own, agreement),
        *select_document_headers(fields_of(read_entity(content.head + CRLF).headers())),
    )
    sent = SentMessage(
        message_id=message_id,
        sender=own.name,
        recipient=partner.name,
        mic=mic,
        mdn_signed=agreement.mdn_signed and agreement.mdn != "none",
    )
    return BuiltMessage(headers=headers, body=bytes(content.body), sent=sent)


def _checked_head(head: bytes) -> bytes:
    if not head:
        return _UNNAMED  # some partners misinterpret content without a header
    if not head.endswith(CRLF) or read_entity(head + CRLF).body:
        raise Refused("as2.malformed", "The document's header must consist of complete, non-empty lines")
    return head


def _signed(
    document: _Content, own: As2Identity, agreement: PartnershipTerms, at: datetime, seed: bytes
) -> tuple[_Content, Mic]:
    """Return the document signed and compressed in the agreed order, and its MIC."""
    content = _compressed(document) if agreement.compress == "before" else document
    if agreement.sign:
        mic = mic_over(content.raw, agreement.sign)
        content_type, pieces = write_signed(
            content.head, content.body, own.signer, mic, at=at, seed=seed, pss=agreement.pss
        )
        content = _Content(write_head([("Content-Type", content_type)]), b"".join(pieces))
    elif agreement.compress or agreement.encrypt:
        mic = mic_over(document.raw, agreement.mic_digest)
    else:
        mic = mic_over((document.body,), agreement.mic_digest)
    return (_compressed(content) if agreement.compress == "after" else content), mic


def _compressed(content: _Content) -> _Content:
    return _Content(_COMPRESSED, compress(content.raw))


def _wish(own: As2Identity, agreement: PartnershipTerms) -> list[tuple[str, str]]:
    """Return the headers that request the MDN."""
    if agreement.mdn == "none":
        return []
    url = require_printable(agreement.mdn_url, "The address for MDNs")
    wish = [("Disposition-Notification-To", url or quote_name(own.name))]
    if agreement.mdn_signed:
        wish.append(("Disposition-Notification-Options", options_value(agreement.mic_digest)))
    if agreement.mdn == "async":
        if not url:
            raise Misconfigured([f"{own.name!r} requests asynchronous MDNs without an address; specify the address"])
        wish.append(("Receipt-Delivery-Option", url))
    return wish
