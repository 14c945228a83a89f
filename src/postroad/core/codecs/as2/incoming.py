"""Opens a message from a partner: removes its layers, checks its signature, computes its MIC.

Rules: the output is byte for byte what the partner put in; line ends, headers and transfer encodings are unchanged.
The MIC covers what RFC 4130 (7.3.1) and RFC 5402 (4) define: signed content as it was signed; otherwise the entity
with its header, decompressed; and the bare content if there is no layer, since its header may have changed on the
way.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.x509 import Certificate

from postroad.core.codecs.as2.document_headers import read_plain_entity
from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.as2.heading import Heading, distinct_fields, heading_in
from postroad.core.codecs.as2.layers import ENCRYPTED, LayerRemoval, decryption_refusal, is_headless
from postroad.core.codecs.as2.mic import DEFAULT, Mic, mic_over
from postroad.core.codecs.as2.partners import As2Identity, PartnershipTerms
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime import Entity, read_entity
from postroad.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMessage:
    heading: Heading
    entity: Entity  # the document, or a multipart of several, as the partner made it
    mic: Mic  # what the receipt sends back
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
    """The document in a message that ``partner`` sent to ``own``; refused with a code that ``answers`` knows."""
    fields = distinct_fields(headers)
    heading = heading_in(fields)
    if (heading.sender, heading.recipient) != (partner.name, own.name):
        raise Refused("as2.partner-unknown", f"{heading.sender!r} has no partnership with {heading.recipient!r} here")
    heading.wish.refuse_unsupported()
    peeling = LayerRemoval(own=own, partner=partner, limits=limits)
    entity = peeling.peel(read_plain_entity(fields, body, limits))
    _check_security(peeling, entity, agreement)
    if not peeling.layers:
        entity = read_entity(b"".join((entity.head, b"\r\n", body)), limits)  # with its header before it, as any other
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
            raise decryption_refusal()  # garbage looks like this, and must look like what could not be decrypted
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
