"""Opens a message from a partner: removes its layers (signed, encrypted, compressed), checks its signature, computes its MIC.

Rules: the output is byte for byte what the partner put in; line ends, headers and transfer encodings are unchanged.
A layer is recognised by its bytes; the Content-Type only announces one. Every error inside an encrypted layer is
reported as a failure to decrypt, with the same text; otherwise an attacker who sends modified copies of a message
could learn its contents from the answers.

The MIC covers what RFC 4130 (7.3.1) and RFC 5402 (4) define: signed content as it was signed; otherwise the entity
with its header, decompressed; and the bare content if there is no layer, since its header may have changed on the
way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from cryptography.x509 import Certificate

from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.as2.heading import Heading, distinct_fields, heading_in, read_plain_entity
from postroad.core.codecs.as2.mic import DEFAULT, Mic, mic_over
from postroad.core.codecs.as2.multipart_signed import pkcs7_in, read_signed
from postroad.core.codecs.as2.partners import As2Identity, PartnershipTerms
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import VerifiedSignature, content_kind, decompress, decrypt, verify
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, entity_of, read_entity, read_multipart
from postroad.errors import Refused

MAX_LAYERS = 4
SIGNED, ENCRYPTED, COMPRESSED = "signed", "encrypted", "compressed"
_PKCS7 = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_LAYERS = {"signed": SIGNED, "enveloped": ENCRYPTED, "auth-enveloped": ENCRYPTED, "compressed": COMPRESSED}
_FAULT_OF_SIGNATURE = {"/content": "as2.integrity-check-failed"}  # pointer in a refusal of ``cms`` → our code
_TOLD_AS_UNDECRYPTED = (
    "as2.malformed", "as2.decompression-failed", "wire.malformed", "wire.too-complex", "wire.too-large", "wire.unsupported",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LayerRemoval:
    """Removes the layers of a message one by one, the outermost first."""

    own: As2Identity
    partner: As2Identity
    limits: WireLimits
    layers: list[str] = field(default_factory=list)
    verified: VerifiedSignature | None = None  # the outermost signature

    def peel(self, entity: Entity) -> Entity:
        """Return the entity without any layers."""
        try:
            while layer := self._layer_of(entity):
                if len(self.layers) == MAX_LAYERS:
                    raise Refused("as2.malformed", f"The message has more than {MAX_LAYERS} layers; send it with fewer")
                self.layers.append(layer)
                entity = self._without(layer, entity)
        except Refused as fault:
            if ENCRYPTED in self.layers and fault.code in _TOLD_AS_UNDECRYPTED:
                raise decryption_refusal() from fault  # the cause is for our own eyes
            raise
        return entity

    def _layer_of(self, entity: Entity) -> str:
        media_type = media_type_of(entity.content_type)
        if media_type == "multipart/signed":
            said = entity.content_type.lower()
            return (
                SIGNED if "pkcs7-signature" in said or "protocol" not in said else ""
            )  # PGP is end-to-end between the partners
        if media_type not in _PKCS7:
            return ""
        try:
            kind = content_kind(pkcs7_in(entity, self.limits))
        except Refused as fault:
            _refuse_as(fault, "as2.malformed")
        return _LAYERS.get(kind) or _unknown(kind)

    def _without(self, layer: str, entity: Entity) -> Entity:
        if layer == ENCRYPTED:
            return self._decrypted(entity)
        return self._verified(entity) if layer == SIGNED else self._decompressed(entity)

    def _decrypted(self, entity: Entity) -> Entity:
        try:
            return entity_in(decrypt(pkcs7_in(entity, self.limits), self.own.identities), self.limits)
        except Refused as fault:
            if fault.code == "cms.unsupported":
                raise Refused("as2.unsupported-format", fault.detail) from None
            raise decryption_refusal() from fault  # the cause is for our own eyes

    def _decompressed(self, entity: Entity) -> Entity:
        try:
            return entity_in(decompress(pkcs7_in(entity, self.limits), self.limits), self.limits)
        except Refused as fault:
            _refuse_as(fault, "as2.decompression-failed")

    def _verified(self, entity: Entity) -> Entity:
        try:
            inside, verified = self._signed_content(entity)
        except Refused as fault:
            if fault.code == "cms.signature-invalid":
                _refuse_as(fault, _FAULT_OF_SIGNATURE.get(fault.pointer, "as2.authentication-failed"))
            _refuse_as(fault, "as2.malformed")
        self.verified = self.verified or verified
        return inside

    def _signed_content(self, entity: Entity) -> tuple[Entity, VerifiedSignature]:
        if media_type_of(entity.content_type) in _PKCS7:  # the content is embedded in the signature
            verified = verify(pkcs7_in(entity, self.limits), None, self.partner.certificates)
            return entity_in(verified.content or b"", self.limits), verified
        multipart = read_multipart(entity.content_type, entity.body, self.limits)
        if ENCRYPTED in self.layers and bytes(multipart.epilogue).strip():
            raise decryption_refusal()  # appended blocks end up there: accepting them would reveal whether they decrypt
        return read_signed(multipart, self.partner.certificates, self.limits)


def entity_in(content: Buffer, limits: WireLimits) -> Entity:
    """Return the entity in a layer; if a product left out the header, all content is the document."""
    try:
        entity = read_entity(content, limits)
    except Refused as fault:
        if fault.code == "wire.too-large":
            raise
        return entity_of(b"", content)
    if entity.content_type or not entity.head:
        return entity
    named = any(name.lower().startswith(("content-", "mime-version")) for name, _ in entity.headers())
    return entity if named else entity_of(b"", content)


def is_headless(entity: Entity) -> bool:
    return len(entity.body) == len(entity.raw)


def decryption_refusal() -> Refused:
    return Refused(
        "as2.decryption-failed",
        "The message cannot be decrypted; encrypt it for the network's current certificate and send it again",
    )


def _refuse_as(fault: Refused, code: str) -> NoReturn:
    """Raise a refusal of ``cms`` again with a code that has a disposition; refusals with other codes stay the same."""
    if fault.code == "cms.unsupported":
        code = "as2.unsupported-format"
    elif not fault.code.startswith("cms."):
        raise fault
    raise Refused(code, fault.detail) from None


def _unknown(kind: str) -> NoReturn:
    raise Refused(
        "as2.unsupported-format", f"The message holds {kind} content; send it signed, encrypted or compressed"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMessage:
    heading: Heading
    entity: Entity  # the document, or a multipart of several, as the partner made it
    mic: Mic  # returned in the MDN
    layers: tuple[str, ...]  # the outermost first
    signer: Certificate | None


def open_message(
    headers: Headers,
    body: Buffer,
    own: As2Identity,
    partner: As2Identity,
    agreement: PartnershipTerms,
    limits: WireLimits = DEFAULT_LIMITS,
) -> OpenedMessage:
    """Return the document of a message from ``partner`` to ``own``; refused with a code that ``dispositions`` knows."""
    fields = distinct_fields(headers)
    heading = heading_in(fields)
    if (heading.sender, heading.recipient) != (partner.name, own.name):
        raise Refused("as2.partner-unknown", f"{heading.sender!r} has no partnership with {heading.recipient!r} here")
    heading.wish.refuse_unsupported()
    peeling = LayerRemoval(own=own, partner=partner, limits=limits)
    entity = peeling.peel(read_plain_entity(fields, body, limits))
    _check_security(peeling, entity, agreement)
    if not peeling.layers:
        entity = read_entity(b"".join((entity.head, b"\r\n", body)), limits)  # with its header first
    return OpenedMessage(
        heading=heading,
        entity=entity,
        mic=_mic(peeling, entity, heading.wish.digest or DEFAULT),
        layers=tuple(peeling.layers),
        signer=peeling.verified.signers[0] if peeling.verified else None,
    )


def _check_security(peeling: LayerRemoval, entity: Entity, agreement: PartnershipTerms) -> None:
    if agreement.must_be_signed and not peeling.verified:
        if ENCRYPTED in peeling.layers and is_headless(entity):
            raise decryption_refusal()  # wrongly decrypted data looks like this, and must be reported as a failure to decrypt
        raise _insufficient("must be signed and is not; sign it")
    if agreement.must_be_encrypted and ENCRYPTED not in peeling.layers:
        raise _insufficient("must be encrypted and is not; encrypt it")
    if peeling.verified and peeling.verified.digest not in agreement.accepted_digests:
        accepted = ", ".join(agreement.accepted_digests)
        raise _insufficient(f"is signed with {peeling.verified.digest}; sign it with {accepted}")


def _insufficient(what: str) -> Refused:
    return Refused("as2.insufficient-security", f"By the partnership, the message {what} and send it again")


def _mic(peeling: LayerRemoval, entity: Entity, digest: str) -> Mic:
    if peeling.verified:
        return Mic(digest=peeling.verified.content_digest, algorithm=peeling.verified.digest)
    return mic_over((entity.raw if peeling.layers else entity.body,), digest)
