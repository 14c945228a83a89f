"""The credentials that a document gives a service: kept as they are, unchanged, or new.

Rules: a secret is compared and stored in its stored form (a hash, a fingerprint), which the caller computed. A
credential is identified by its service, kind and label, so a new secret replaces the old one, wherever that was
created.
"""

from __future__ import annotations

from hashlib import blake2b

from postroad.core.configuration import certificates
from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import CredentialEntry, ServiceEntry, pointer
from postroad.core.configuration.passwords import MIN_CHARS
from postroad.core.model.directory import Credential, Service


def wanted_credentials(
    service: Service, wish: ServiceEntry, here: str, planning: PlanningContext
) -> list[WantedObject]:
    existing = planning.directory.credentials_of(service=service.gcid)
    found = []
    for number, entry in enumerate(wish.credentials or ()):
        place = here + pointer("credentials", number)
        same = [item for item in existing if (item.label or item.id) == entry.label and item.kind is entry.proof]
        credential = _credential(service, entry, place, same, planning)
        if credential is not None:
            found += [WantedObject(place, item, f"{service.address}: {entry.label}") for item in credential]
    labels = [(entry.label, entry.proof) for entry in wish.credentials or ()]
    if len(set(labels)) != len(labels) and not all(entry.kept for entry in wish.credentials or ()):
        planning.fault(here + "/credentials", "two credentials of the same kind have the same label")
    return found


def _credential(
    service: Service, entry: CredentialEntry, place: str, same: list[Credential], planning: PlanningContext
) -> list[Credential] | None:
    if entry.kept:
        if not same:
            planning.fault(place, "the kept credential does not exist; specify the location of its secret instead")
        return same
    if entry.password_from or entry.key_from:
        planning.fault(place, "resolve the reference before sending the document, as `postroad apply` does")
        return None
    certificate = certificates.read(entry.certificate) if entry.certificate else None
    secret = certificate.fingerprint if certificate else planning.secrets.get(place)
    if secret is None:
        planning.fault(
            place, "this secret cannot be used: a key must be created by postroad, a certificate must be PEM"
        )
        return None
    unchanged = [item for item in same if item.secret == secret]
    if unchanged:
        return unchanged
    if certificate is not None and certificate.expires_at_us <= planning.now_us:
        planning.fault(place + "/certificate", "has expired; register its successor")
        return None
    if certificate is not None and planning.proven is not None and place not in planning.proven:
        planning.fault(place + "/certificate", "prove that you have its private key: apply with --certificate-key FILE")
        return None
    if entry.password is not None and len(entry.password) < MIN_CHARS:
        planning.fault(
            place + "/password", f"needs at least {MIN_CHARS} characters; or use a key, which cannot be guessed"
        )
        return None
    key_id = entry.key.split("_")[1] if entry.key else same[0].id if same else _derived_id(service.gcid, entry)
    planning.replaced += [item for item in same if item.id != key_id]
    other = planning.directory.credentials.get(key_id)
    if other is not None and other.service != service.gcid:
        planning.fault(place, "this key cannot be used; create a new one")
        return None
    return [
        Credential(
            id=key_id,
            kind=entry.proof,
            secret=secret,
            service=service.gcid,
            label=entry.label,
            starts_at_us=certificate.starts_at_us if certificate else 0,
            expires_at_us=certificate.expires_at_us if certificate else 0,
            certificate=certificate.pem if certificate else "",
            created_at_us=planning.now_us,
        )
    ]


def _derived_id(gcid: str, entry: CredentialEntry) -> str:
    """Return the ID of a new password or certificate, which is the same in every plan."""
    return blake2b(f"{gcid}/{entry.proof.value}/{entry.label}".encode(), digest_size=8).hexdigest()
