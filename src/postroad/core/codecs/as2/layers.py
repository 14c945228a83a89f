"""Recognises and removes the layers around a document: signed, encrypted, compressed.

Rules: a layer is recognised by its bytes; the Content-Type only announces one. Every error inside an encrypted layer
is reported as a failure to decrypt, with the same text; otherwise an attacker who sends modified copies of a message
could learn its contents from the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from postroad.core.codecs.as2.multipart_signed import read_signed
from postroad.core.codecs.as2.partners import As2Identity
from postroad.core.codecs.as2.pkcs7_content import pkcs7_in
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import VerifiedSignature, content_kind, decompress, decrypt, verify
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, entity_of, read_entity, read_multipart
from postroad.errors import Refused

MAX_LAYERS = 4
SIGNED, ENCRYPTED, COMPRESSED = "signed", "encrypted", "compressed"
_PKCS7 = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_LAYERS = {"signed": SIGNED, "enveloped": ENCRYPTED, "auth-enveloped": ENCRYPTED, "compressed": COMPRESSED}
_FAULT_OF_SIGNATURE = {"/content": "as2.integrity-check-failed"}  # where ``cms`` says the fault is → our code
_TOLD_AS_UNDECRYPTED = (
    "as2.malformed", "as2.decompression-failed", "wire.malformed", "wire.too-complex", "wire.too-large", "wire.unsupported",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LayerRemoval:
    """A message whose layers are taken off one after the other, the outermost first."""

    own: As2Identity
    partner: As2Identity
    limits: WireLimits
    layers: list[str] = field(default_factory=list)
    verified: VerifiedSignature | None = None  # the outermost signature

    def peel(self, entity: Entity) -> Entity:
        """The entity without any layers."""
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
            )  # PGP is the partners' own affair
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
        if media_type_of(entity.content_type) in _PKCS7:  # the content is inside of the signature
            verified = verify(pkcs7_in(entity, self.limits), None, self.partner.certificates)
            return entity_in(verified.content or b"", self.limits), verified
        multipart = read_multipart(entity.content_type, entity.body, self.limits)
        if ENCRYPTED in self.layers and bytes(multipart.epilogue).strip():
            raise decryption_refusal()  # appended blocks end up there: taking them would tell whether they decrypt to something
        return read_signed(multipart, self.partner.certificates, self.limits)


def entity_in(content: Buffer, limits: WireLimits) -> Entity:
    """The entity that a layer held; some products leave out the header, and all of it is the document then."""
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
    """One of the other rooms' refusals under a code that partners have a disposition for."""
    if fault.code == "cms.unsupported":
        code = "as2.unsupported-format"
    elif not fault.code.startswith("cms."):
        raise fault
    raise Refused(code, fault.detail) from None


def _unknown(kind: str) -> NoReturn:
    raise Refused(
        "as2.unsupported-format", f"The message holds {kind} content; send it signed, encrypted or compressed"
    )
