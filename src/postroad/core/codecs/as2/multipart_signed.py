"""multipart/signed: an entity and the detached signature over it (RFC 8551, 3.5.3), in messages and MDNs.

Rule: the signed bytes are never changed. If verification fails, it is retried with other line ends, because gateways
may convert them; the variant that verifies is what was sent.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from datetime import datetime

from cryptography.x509 import Certificate

from postroad.core.codecs.as2.mic import Mic, micalg
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import Identity, VerifiedSignature, sign, verify
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import (
    Entity,
    Multipart,
    encode_content,
    make_boundary,
    read_entity,
    write_head,
    write_multipart,
)
from postroad.errors import Refused

CRLF = b"\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_MULTIPART = 'multipart/signed; protocol="application/pkcs7-signature"'
_SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature")
_SIGNATURE_HEAD = write_head((
    ("Content-Type", 'application/pkcs7-signature; name="smime.p7s"; smime-type=signed-data'),
    ("Content-Transfer-Encoding", "base64"),
    ("Content-Disposition", 'attachment; filename="smime.p7s"'),
))  # fmt: skip
_SEQUENCE, _LONG = 0x30, 0x80  # the first byte, and the flag in the second byte if more than 127 bytes follow


def pkcs7_in(entity: Entity, limits: WireLimits) -> Buffer:
    """Extracts the CMS message from a part, raw or base64, whatever its headers declare.

    Rule: the bytes decide. A CMS message begins with 0x30, and its base64 never does; messages of products that omit the
    transfer encoding, or declare one that a gateway has removed, are understood, too.
    """
    body = entity.body
    if len(body) > 1 and body[0] == _SEQUENCE and body[1] & _LONG:
        return body
    data = entity.data(limits)
    if not data or data[0] == _SEQUENCE:
        return data
    try:
        return a2b_base64(data)
    except NotBase64:
        return data


def write_signed(
    head: bytes, body: Buffer, signer: Identity, mic: Mic, *, at: datetime, seed: bytes, pss: bool = False
) -> tuple[str, list[Buffer]]:
    """Sign an entity; returns its Content-Type and its body in pieces. ``mic`` is over head, CRLF and body."""
    signature = sign(
        (head, CRLF, body), (signer,), digest=mic.algorithm, content_digest=mic.digest, signed_at=at, pss=pss
    )
    boundary = make_boundary((head, body), seed)
    content_type = f'{_MULTIPART}; micalg={micalg(mic.algorithm)}; boundary="{boundary.decode()}"'
    return content_type, write_multipart(
        ((head, body), (_SIGNATURE_HEAD, encode_content(signature, "base64"))), boundary
    )


def read_signed(
    multipart: Multipart, trusted: Sequence[Certificate], limits: WireLimits
) -> tuple[Entity, VerifiedSignature]:
    """Return the entity and the proof that a trusted certificate signed it; refuses any other signature."""
    entity, signature = _signed_parts(multipart, limits)
    refused: Refused | None = None
    for candidate in _candidates(entity):
        try:
            verified = verify(signature, (candidate,), trusted)
        except Refused as fault:
            if fault.code != "cms.signature-invalid":
                raise
            refused = refused or fault
        else:
            return (entity if candidate is entity.raw else read_entity(candidate, limits)), verified
    raise refused or AssertionError("there is always one candidate")


def _signed_parts(multipart: Multipart, limits: WireLimits) -> tuple[Entity, Buffer]:
    if len(multipart.parts) != 2 or media_type_of(multipart.parts[1].content_type) not in _SIGNATURES:
        raise Refused("as2.malformed", "A signed message has two parts, and the second one is its pkcs7-signature")
    entity, signature = multipart.parts
    return entity, pkcs7_in(signature, limits)


def _candidates(entity: Entity) -> Iterator[Buffer]:
    """Yield the bytes that may have been signed: unchanged, with CRLF in the header, with CRLF everywhere."""
    yield entity.raw
    with_head = b"".join((_BARE_LF.sub(CRLF, entity.head), CRLF, entity.body))
    if len(with_head) != len(entity.raw):
        yield with_head
    everywhere = _BARE_LF.sub(CRLF, with_head)
    if len(everywhere) != len(with_head):
        yield everywhere
