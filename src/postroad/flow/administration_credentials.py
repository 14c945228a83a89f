"""The credentials of services: keys, passwords and certificates, added and removed by those who may."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from postroad.core.configuration import certificates
from postroad.core.configuration.account_texts import check_label
from postroad.core.configuration.certificates import Certificate
from postroad.core.configuration.passwords import PASSWORDS_MOST, check_password
from postroad.core.configuration.possession import Possession, is_possessed, make_challenge
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Role, Service
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import Administration, denied, not_found, removing, service_for, visible_service
from postroad.flow.administration_confirming import waiting_for_owner
from postroad.flow.commit import committed
from postroad.flow.configure import Change, saving
from postroad.ports import Step

CREDENTIALS_MOST = 100
UNPROVEN = (
    "Prove that you have the key of this certificate: sign a challenge with it, as `postroad services add-certificate` and "
    "`postroad apply --certificate-key` do, or send the request over a connection that presents the certificate"
)


def credentials(caller: Caller, directory: Directory, named: str) -> tuple[Service, list[Credential]]:
    """A service's credentials, for its organization's people and for itself."""
    service = visible_service(caller, directory, named)
    if not caller.has_role(service.organization, Role.VIEWER) and (
        caller.service is None or caller.service.gcid != service.gcid
    ):
        raise denied("Only people of the service's organization, and the service itself, see its credentials")
    owned = directory.credentials_of(service=service.gcid)
    return service, sorted(owned, key=lambda item: (item.created_at_us, item.id))


async def add_key(
    administration: Administration, caller: Caller, named: str, label: str, expires_at_us: int
) -> tuple[str, Credential]:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    key, credential = administration.new_key(label, service=service.gcid, expires_at_us=expires_at_us)
    return key, await _save(administration, caller, named, credential)


async def add_password(
    administration: Administration, caller: Caller, named: str, label: str, password: str
) -> Credential:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    check_password(password, service.name, service.organization)
    credential = await administration.new_password(password, label, service=service.gcid)
    return await _save(administration, caller, named, credential)


def certificate_challenge(administration: Administration, caller: Caller) -> str:
    """What the person signs with the key of a certificate in order to register it."""
    if caller.person is None:
        raise denied("People register certificates; use a person's key or password, not a service's")
    network = administration.network
    return make_challenge(network.tokens.forms, caller.name, network.clock.now_us())


class Evidence(NamedTuple):
    """What the person brings to show that they have the key of a certificate: either is enough."""

    possession: Possession | None = None
    presented_der: bytes | None = None  # the certificate that was presented on the connection of this request


NO_EVIDENCE = Evidence()


async def add_certificate(
    administration: Administration,
    caller: Caller,
    named: str,
    label: str,
    pem: str,
    evidence: Evidence = NO_EVIDENCE,
) -> Credential:
    """Register a client certificate of a service.

    Operators need no evidence: they register certificates for others, on record, and where the organization has an owner, the
    owner confirms it.
    """
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    certificate = certificates.read(pem)
    if certificate is None:
        raise Refused("value.invalid", "This is not one certificate in PEM form", pointer="/certificate")
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


def _is_evident(administration: Administration, caller: Caller, found: Certificate, evidence: Evidence) -> bool:
    if evidence.presented_der is not None and sha256(evidence.presented_der).hexdigest() == found.fingerprint:
        return True
    network = administration.network
    return evidence.possession is not None and is_possessed(
        found.pem, evidence.possession, network.tokens.forms, caller.name, network.clock.now_us()
    )


async def _record_conflict(administration: Administration, caller: Caller, service: Service, fingerprint: str) -> None:
    """Operators see in the audit that a certificate was to be registered which a service of another organization has."""
    directory, network = administration.directory, administration.network
    holders = [directory.services.get(item.service) for item in directory.credentials_of_secret(fingerprint)]
    others = [one.address for one in holders if one is not None and one.organization != service.organization]
    if others:
        detail = f"{service.address} wants the certificate {fingerprint} of {others[0]}"
        entry = AccessRecorded(network.clock.now_us(), caller.name, "certificate.conflict", detail[:400])
        await committed(network.desk, Step(entry, reserve=True))


async def _save(administration: Administration, caller: Caller, named: str, credential: Credential) -> Credential:
    check_label(credential.label)

    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        owned = directory.credentials_of(service=service.gcid)
        if len(owned) >= CREDENTIALS_MOST:
            raise Refused("value.invalid", f"A service has at most {CREDENTIALS_MOST} credentials; remove one first")
        _check_passwords(credential, owned)
        if any(item.label == credential.label and item.kind is credential.kind for item in owned):
            raise Refused("name.taken", "The service has such a credential with this label; choose another label",
                          pointer="/label")  # fmt: skip
        if credential.kind is CredentialKind.CERTIFICATE and directory.credentials_of_secret(credential.secret):
            raise Refused("name.taken", "This certificate cannot be used; register one that was made for this service",
                          pointer="/certificate")  # fmt: skip
        waiting = waiting_for_owner(caller, directory, service.organization)
        return [saving(replace(credential, unconfirmed=waiting))]

    directory = await administration.carry_out(caller.name, decide, "credential added")
    return directory.credentials.get(credential.id, credential)


def _check_passwords(credential: Credential, owned: list[Credential]) -> None:
    passwords = [item for item in owned if item.kind is CredentialKind.PASSWORD]
    if credential.kind is CredentialKind.PASSWORD and len(passwords) >= PASSWORDS_MOST:
        raise Refused(
            "value.invalid", f"A service has at most {PASSWORDS_MOST} passwords; remove one first, or use keys"
        )


async def remove(administration: Administration, caller: Caller, named: str, credential_id: str) -> None:
    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        found = directory.credentials.get(credential_id)
        if found is None or found.service != service.gcid:
            raise not_found()
        return [removing(found)]

    await administration.carry_out(caller.name, decide, "credential removed")
