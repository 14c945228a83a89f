"""SignedData: signatures of one or several signers, detached or enclosing the content; writes and verifies it.

Rules for verifying: signatures are checked against the certificates registered for the signer; no chain is built. At least
one signature must be by a registered certificate, and every such signature must be valid. The content's digest is signed
exactly once. A signature without attributes is never accepted as one over attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.attributes import check_attributes, could_be_attributes, list_signed_forms
from postroad.core.codecs.cms.ber import BerElement, BerFields
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.content import open_content, wrap_content
from postroad.core.codecs.cms.der import (
    INTEGER,
    OCTET_STRING,
    OID,
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
from postroad.core.codecs.cms.digests import SHA256, Digest, digest_in, find_digest
from postroad.core.codecs.cms.identities import Identity
from postroad.core.codecs.cms.refusals import CONTENT, SIGNATURE, SIGNERS, signature_invalid, too_complex
from postroad.core.codecs.cms.schemes import is_valid_signature, make_signature, scheme_for

MAX_SIGNERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSignature:
    signers: tuple[x509.Certificate, ...]  # the registered ones that signed, in the order of their signatures
    digest: str  # of the first of them
    content_digest: bytes
    content: bytes | None  # when it came inside the message


def verify(
    signed: Buffer,
    content: Sequence[Buffer] | None,
    trusted: Sequence[x509.Certificate],
    *,
    at: datetime | None = None,
) -> VerifiedSignature:
    """Return which registered certificate signed the content: the given content, or the one inside the message.

    With ``at``, a certificate that is not valid then counts for nothing.
    """
    message = _read(signed)
    covered = _covered(message, content)
    found = [
        (_signer(info, candidates, covered, at), info.digest)
        for info, candidates in _known(message.signer_infos, trusted)
    ]
    if not found:
        raise signature_invalid(_nobody_known(message.signer_infos), SIGNERS)
    return VerifiedSignature(
        signers=tuple(certificate for certificate, _ in found),
        digest=found[0][1].name,
        content_digest=covered.digest(found[0][1]),
        content=None if message.inside is None else message.inside.octets(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    content_type: bytes
    inside: BerElement | None
    signer_infos: tuple[BerElement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignerInfo:
    digest: Digest
    attributes: BerElement | None
    scheme: BerElement
    signature: bytes


class _Covered:
    """The signed content, hashed once for each digest."""

    __slots__ = ("_digests", "pieces", "type")

    def __init__(self, pieces: Sequence[Buffer], content_type: bytes) -> None:
        self.pieces = pieces
        self.type = content_type
        self._digests: dict[str, bytes] = {}

    def digest(self, digest: Digest) -> bytes:
        if digest.name not in self._digests:
            self._digests[digest.name] = digest.of(self.pieces)
        return self._digests[digest.name]


def _read(signed: Buffer) -> _Message:
    _, content = open_content(signed, "signed")
    fields = content.fields()
    fields.take("version", INTEGER)
    fields.take("list of digest algorithms", SET)
    encapsulated = fields.take("signed content", SEQUENCE).fields()
    content_type = encapsulated.take("type of the signed content", OID).oid()
    inside = encapsulated.maybe(context_tag(0))
    fields.maybe(context_tag(0))  # certificates: only registered ones count
    fields.maybe(context_tag(1))  # revocations
    signer_infos = fields.take("list of signers", SET).children()
    fields.end()
    if len(signer_infos) > MAX_SIGNERS:
        raise too_complex(f"The message has more than {MAX_SIGNERS} signers")
    return _Message(
        content_type=content_type,
        inside=inside and inside.only_child().string("signed content"),
        signer_infos=signer_infos,
    )


def _covered(message: _Message, given: Sequence[Buffer] | None) -> _Covered:
    inside = None if message.inside is None else message.inside.pieces()
    if given is None and inside is None:
        raise signature_invalid("The signature has no content; send both", CONTENT)
    if given is not None and inside is not None and SHA256.of(given) != SHA256.of(inside):
        raise signature_invalid("The signature contains other content than the message; send only one of them", CONTENT)
    return _Covered(given if given is not None else inside or [], message.content_type)


def _known(
    signer_infos: tuple[BerElement, ...], trusted: Sequence[x509.Certificate]
) -> Iterator[tuple[_SignerInfo, list[x509.Certificate]]]:
    """Yield the signatures that name registered certificates; others are ignored."""
    for signer_info in signer_infos:
        fields = signer_info.fields()
        fields.take("version", INTEGER)
        mark = fields.take("name of the signer")
        candidates = [certificate for certificate in trusted if marks_of(certificate).are_named_by(mark)]
        if candidates:
            yield _signer_info(fields), candidates


def _signer_info(fields: BerFields) -> _SignerInfo:
    info = _SignerInfo(
        digest=digest_in(fields.take("digest algorithm", SEQUENCE)),
        attributes=fields.maybe(context_tag(0)),
        scheme=fields.take("signature algorithm", SEQUENCE),
        signature=fields.take("signature").string("signature").octets(),
    )
    fields.maybe(context_tag(1))  # attributes that no one signed
    fields.end()
    return info


def _signer(
    info: _SignerInfo, candidates: list[x509.Certificate], covered: _Covered, at: datetime | None
) -> x509.Certificate:
    """Return the certificate that made this signature. Several may have the same name, for example after a renewal."""
    if info.attributes is not None:
        check_attributes(info.attributes, covered.type, covered.digest(info.digest))
    elif covered.type != oids.DATA or could_be_attributes(covered.pieces):
        raise signature_invalid(
            "A signature over such content needs signed attributes; ask the sender to include them", SIGNATURE
        )
    signed_by = [certificate for certificate in candidates if _is_by(certificate, info, covered)]
    if not signed_by:
        raise signature_invalid(
            "The signature does not match the registered certificate, or not this content", SIGNATURE
        )
    valid = [one for one in signed_by if at is None or one.not_valid_before_utc <= at <= one.not_valid_after_utc]
    if not valid:
        raise signature_invalid("The signer's certificate is not valid at this time; register its successor", SIGNERS)
    return valid[0]


def _is_by(certificate: x509.Certificate, info: _SignerInfo, covered: _Covered) -> bool:
    key = marks_of(certificate).key
    if info.attributes is None:
        return is_valid_signature(
            key, info.scheme, info.digest, info.signature, covered.digest(info.digest), hashed=True
        )
    return any(
        is_valid_signature(key, info.scheme, info.digest, info.signature, form, hashed=False)
        for form in list_signed_forms(info.attributes)
    )


def _nobody_known(signer_infos: tuple[BerElement, ...]) -> str:
    if not signer_infos:
        return "The message is declared as signed, but has no signature"
    return "None of the signatures is by a registered certificate; register the sender's current certificate"


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
    signer_infos = [_write_signer_info(signer, chosen, attributes, pss=pss) for signer in signers]
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


def _write_signer_info(signer: Identity, digest: Digest, attributes: list[bytes], *, pss: bool) -> bytes:
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
