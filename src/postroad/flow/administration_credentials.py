"""The credentials of services: keys, passwords and certificates, added and removed by those who may."""

from __future__ import annotations

from postroad.core.configuration import certificates
from postroad.core.configuration.account_texts import check_label
from postroad.core.configuration.passwords import PASSWORDS_MOST
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import Administration, denied, not_found, removing, service_for, visible_service
from postroad.flow.configure import Change, saving

CREDENTIALS_MOST = 100


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
    await _save(administration, caller, named, credential)
    return key, credential


async def add_password(
    administration: Administration, caller: Caller, named: str, label: str, password: str
) -> Credential:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    credential = await administration.new_password(password, label, service=service.gcid)
    await _save(administration, caller, named, credential)
    return credential


async def add_certificate(
    administration: Administration, caller: Caller, named: str, label: str, pem: str
) -> Credential:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    certificate = certificates.read(pem)
    if certificate is None:
        raise Refused("value.invalid", "This is not one certificate in PEM form", pointer="/certificate")
    certificates.check_current(certificate, administration.network.clock.now_us())
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
    await _save(administration, caller, named, credential)
    return credential


async def _save(administration: Administration, caller: Caller, named: str, credential: Credential) -> None:
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
        return [saving(credential)]

    await administration.carry_out(caller.name, decide, "credential added")


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
