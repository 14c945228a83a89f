"""Credentials of services: add and remove keys, passwords and certificates."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from postroad.core.configuration import certificates
from postroad.core.configuration.account_fields import check_label
from postroad.core.configuration.certificates import Certificate
from postroad.core.configuration.key_possession import KeyPossessionProof, has_private_key, make_challenge
from postroad.core.configuration.passwords import MAX_PASSWORDS, check_password
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Role, Service
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    build_removal,
    find_visible_service,
    not_found,
    permission_denied,
    require_service,
)
from postroad.flow.administration.confirmations import get_unconfirmed_by
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.ports import JournalStep

MAX_CREDENTIALS = 100
UNPROVEN = (
    "Prove that you have the private key of this certificate: sign a challenge with it, as `postroad services add-certificate` "
    "and `postroad apply --certificate-key` do, or send the request over a connection that presents the certificate"
)


def list_credentials(caller: Caller, directory: Directory, named: str) -> tuple[Service, list[Credential]]:
    """Return a service's credentials, for its organization's members and for itself."""
    service = find_visible_service(caller, directory, named)
    if not caller.has_role(service.organization, Role.VIEWER) and (
        caller.service is None or caller.service.gcid != service.gcid
    ):
        raise permission_denied(
            "Only members of the service's organization, and the service itself, may see its credentials"
        )
    owned = directory.credentials_of(service=service.gcid)
    return service, sorted(owned, key=lambda item: (item.created_at_us, item.id))


async def add_key(
    administration: Administration, caller: Caller, named: str, label: str, expires_at_us: int
) -> tuple[str, Credential]:
    service = require_service(caller, administration.directory, named, Role.DEVELOPER)
    key, credential = administration.new_key(label, service=service.gcid, expires_at_us=expires_at_us)
    return key, await _save(administration, caller, named, credential)


async def add_password(
    administration: Administration, caller: Caller, named: str, label: str, password: str
) -> Credential:
    service = require_service(caller, administration.directory, named, Role.DEVELOPER)
    check_password(password, service.name, service.organization)
    credential = await administration.new_password(password, label, service=service.gcid)
    return await _save(administration, caller, named, credential)


def make_certificate_challenge(administration: Administration, caller: Caller) -> str:
    """Create the challenge that is signed with a certificate's key to register it."""
    if caller.person is None:
        raise permission_denied(
            "Only people may register certificates; use a person's key or password, not a service's"
        )
    network = administration.network
    return make_challenge(network.tokens.forms, caller.name, network.clock.now_us())


class KeyEvidence(NamedTuple):
    """Proof of having a certificate's key; either kind is enough."""

    possession: KeyPossessionProof | None = None
    presented_der: bytes | None = None  # the certificate that was presented on the connection of this request


NO_EVIDENCE = KeyEvidence()


async def add_certificate(
    administration: Administration,
    caller: Caller,
    named: str,
    label: str,
    pem: str,
    evidence: KeyEvidence = NO_EVIDENCE,
) -> Credential:
    """Register a client certificate of a service.

    Operators need no proof of possession: they register certificates for others, which is recorded, and if the
    organization has an owner, the owner confirms the certificate.
    """
    service = require_service(caller, administration.directory, named, Role.DEVELOPER)
    certificate = certificates.read(pem)
    if certificate is None:
        raise Refused("value.invalid", "This is not a single certificate in PEM format", pointer="/certificate")
    certificates.check_current(certificate, administration.network.clock.now_us())
    await _record_conflict(administration, caller, service, certificate.fingerprint)
    if not caller.operator and not _is_evident(administration, caller, certificate, evidence):
        raise Refused("certificate.unproven", UNPROVEN, pointer="/certificate")
    credential = Credential(
        id=administration.new_id(),
        kind=CredentialKind.CERTIFICATE,
        secret=certificate.fingerprint,
        service=service.gcid,
        label=label,
        created_at_us=administration.network.clock.now_us(),
        starts_at_us=certificate.starts_at_us,
        expires_at_us=certificate.expires_at_us,
        certificate=certificate.pem,
    )
    return await _save(administration, caller, named, credential)


def _is_evident(administration: Administration, caller: Caller, found: Certificate, evidence: KeyEvidence) -> bool:
    if evidence.presented_der is not None and sha256(evidence.presented_der).hexdigest() == found.fingerprint:
        return True
    network = administration.network
    return evidence.possession is not None and has_private_key(
        found.pem, evidence.possession, network.tokens.forms, caller.name, network.clock.now_us()
    )


async def _record_conflict(administration: Administration, caller: Caller, service: Service, fingerprint: str) -> None:
    """Record for the audit that a certificate of another organization's service was to be registered."""
    directory, network = administration.directory, administration.network
    holders = [directory.services.get(item.service) for item in directory.credentials_of_secret(fingerprint)]
    others = [one.address for one in holders if one is not None and one.organization != service.organization]
    if others:
        detail = f"{service.address} wants the certificate {fingerprint} of {others[0]}"
        entry = AccessRecorded(
            at_us=network.clock.now_us(), by=caller.name, what="certificate.conflict", detail=detail[:400]
        )
        await commit_step(network.desk, JournalStep(entry, reserve=True))


async def _save(administration: Administration, caller: Caller, named: str, credential: Credential) -> Credential:
    check_label(credential.label)

    def decide(directory: Directory) -> list[DirectoryChange]:
        service = require_service(caller, directory, named, Role.DEVELOPER)
        owned = directory.credentials_of(service=service.gcid)
        if len(owned) >= MAX_CREDENTIALS:
            raise Refused("value.invalid", f"A service has at most {MAX_CREDENTIALS} credentials; remove one first")
        _check_passwords(credential, owned)
        if any(item.label == credential.label and item.kind is credential.kind for item in owned):
            raise Refused("name.taken", "The service has a credential of this kind with this label; choose another label",
                          pointer="/label")  # fmt: skip
        if credential.kind is CredentialKind.CERTIFICATE and directory.credentials_of_secret(credential.secret):
            raise Refused("name.taken", "This certificate cannot be used; register one that was made for this service",
                          pointer="/certificate")  # fmt: skip
        waiting = get_unconfirmed_by(caller, directory, service.organization)
        return [build_save(replace(credential, unconfirmed=waiting))]

    directory = await administration.carry_out(caller.name, decide, "credential added")
    return directory.credentials.get(credential.id, credential)


def _check_passwords(credential: Credential, owned: list[Credential]) -> None:
    passwords = [item for item in owned if item.kind is CredentialKind.PASSWORD]
    if credential.kind is CredentialKind.PASSWORD and len(passwords) >= MAX_PASSWORDS:
        raise Refused(
            "value.invalid", f"A service has at most {MAX_PASSWORDS} passwords; remove one first, or use keys"
        )


async def remove(administration: Administration, caller: Caller, named: str, credential_id: str) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        service = require_service(caller, directory, named, Role.DEVELOPER)
        found = directory.credentials.get(credential_id)
        if found is None or found.service != service.gcid:
            raise not_found()
        return [build_removal(found)]

    await administration.carry_out(caller.name, decide, "credential removed")
