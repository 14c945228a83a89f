"""Writes SignedData: signatures of one or several signers, detached or enclosing the content."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.content import wrap_content
from postroad.core.codecs.cms.der import (
    OCTET_STRING,
    SEQUENCE,
    SET,
    context_tag,
    element,
    enclose_pieces,
    encode_time,
    sequence,
    set_of,
    small_integer,
)
from postroad.core.codecs.cms.digests import Digest, find_digest
from postroad.core.codecs.cms.identities import Identity
from postroad.core.codecs.cms.schemes import make_signature, scheme_for

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
        raise ValueError("a signed message needs at least one signer")
    chosen = find_digest(digest)
    attributes = _attributes(content_digest or chosen.of(content), signed_at)
    signer_infos = [_signer_info(signer, chosen, attributes, pss=pss) for signer in signers]
    encapsulated: list[Buffer] = (
        [] if detached else enclose_pieces(context_tag(0), enclose_pieces(OCTET_STRING, content))
    )
    return wrap_content(
        oids.SIGNED_DATA,
        [
            _VERSION,
            element(SET, chosen.identifier),
            *enclose_pieces(SEQUENCE, [oids.DATA, *encapsulated]),
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
        attributes.append(sequence(oids.SIGNING_TIME, element(SET, encode_time(signed_at))))
    return attributes


def _signer_info(signer: Identity, digest: Digest, attributes: list[bytes], *, pss: bool) -> bytes:
    signed = make_signature(signer.key, set_of(attributes), digest, pss=pss)
    return sequence(
        _VERSION,
        marks_of(signer.certificate).issuer_and_serial,
        digest.identifier,
        set_of(attributes, context_tag(0)),
        scheme_for(signer.key, digest, pss=pss),
        element(OCTET_STRING, signed),
    )


def _certificates(signers: Sequence[Identity]) -> bytes:
    included = {marks_of(one).der for signer in signers for one in (signer.certificate, *signer.chain)}
    return set_of(included, context_tag(0))
