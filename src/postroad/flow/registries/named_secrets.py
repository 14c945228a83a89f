"""The secrets that profiles refer to, and which of them this node cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.directory import PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.ports import Secrets

STORED = "secret:"  # begins a reference to a secret that is stored in the network


class NamedSecret(NamedTuple):
    """A secret reference in a profile; a certificate must be a file or stored, others may be variables."""

    service: Service
    reference: str
    is_certificate: bool


async def find_unreadable_secrets(directory: Directory, secrets: Secrets) -> tuple[int, list[str]]:
    """Return how many secrets services refer to, and a line for each that cannot be read here."""
    named = list(list_named_secrets(directory))
    faults: list[str] = []
    for service, reference, is_certificate in named:
        try:
            await secrets.prepare(service)
            if is_certificate and not reference.startswith(STORED):
                secrets.file(service, reference)
            secrets.secret(service, reference)
        except Misconfigured as fault:
            faults.append(f"{service.address}: {fault}")
    return len(named), faults


def list_named_secrets(directory: Directory) -> Iterator[NamedSecret]:
    """Yield every secret of push endpoints and AS2 identities, once per service."""
    for service in directory.services.values():
        for reference, is_certificate in list_references(service):
            yield NamedSecret(service, reference, is_certificate)


def list_references(service: Service) -> list[tuple[str, bool]]:
    """Return the references of one service, each with whether it is a client certificate."""
    found = {(service.as2.secret_from, False)} if service.as2 is not None else set()
    for place in service.push.places if service.push is not None else ():
        found.add((place.secret_from, place.authentication is PushAuthentication.CERTIFICATE))
    return sorted(one for one in found if one[0])
