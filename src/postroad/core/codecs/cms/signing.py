"""SignedData is made: the signatures of one or several signers, beside the content or around it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.content import closed
from postroad.core.codecs.cms.der import (
    OCTET_STRING,
    SEQUENCE,
    SET,
    element,
    enclosed,
    sequence,
    set_of,
    small_integer,
    tagged,
    time,
)
from postroad.core.codecs.cms.digests import Digest, digest_named
from postroad.core.codecs.cms.identities import Identity
from postroad.core.codecs.cms.schemes import scheme_for, signature

_VERSION = small_integer(1)
_CONTENT_TYPE = sequence(oids.CONTENT_TYPE, element(SET, oids.DATA))


def sign(
    content: Sequence[Buffer],
    signers: Sequence[Identity],
    *,
    digest: str = "sha256",
    detached: bool = True,
    signed_at: datetime | None,
    pss: bool = False,
    content_digest: bytes = b"",
) -> bytes:
    """A SignedData message in DER with every signer's certificate and chain. ``pss`` concerns RSA keys only.

    ``content_digest`` spares a caller who has counted the content's digest already from its being counted again.
    """
    if not signers:
        raise ValueError("a message without signers proves nothing")
    chosen = digest_named(digest)
    attributes = _attributes(content_digest or chosen.of(content), signed_at)
    signer_infos = [_signer_info(signer, chosen, attributes, pss=pss) for signer in signers]
    encapsulated: list[Buffer] = [] if detached else enclosed(tagged(0), enclosed(OCTET_STRING, content))
    return closed(
        oids.SIGNED_DATA,
        [
            _VERSION,
            element(SET, chosen.identifier),
            *enclosed(SEQUENCE, [oids.DATA, *encapsulated]),
            _certificates(signers),
            set_of(signer_infos),
        ],
    )


def _attributes(content_digest: bytes, signed_at: datetime | None) -> list[bytes]:
    attributes = [
        _CONTENT_TYPE,
        sequence(oids.MESSAGE_DIGEST, element(SET, element(OCTET_STRING, content_digest))),
    ]
    if signed_at:
        attributes.append(sequence(oids.SIGNING_TIME, element(SET, time(signed_at))))
    return attributes


def _signer_info(signer: Identity, digest: Digest, attributes: list[bytes], *, pss: bool) -> bytes:
    signed = signature(signer.key, set_of(attributes), digest, pss=pss)
    return sequence(
        _VERSION,
        marks_of(signer.certificate).issuer_and_serial,
        digest.identifier,
        set_of(attributes, tagged(0)),
        scheme_for(signer.key, digest, pss=pss),
        element(OCTET_STRING, signed),
    )


def _certificates(signers: Sequence[Identity]) -> bytes:
    included = {marks_of(one).der for signer in signers for one in (signer.certificate, *signer.chain)}
    return set_of(included, tagged(0))
