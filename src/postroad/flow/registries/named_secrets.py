"""The secrets that profiles refer to, and which of them this node cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.directory import PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.ports import Secrets


class NamedSecret(NamedTuple):
    """A secret reference in a profile; a certificate must be a file, others may be variables."""

    service: Service
    reference: str
    is_file: bool


def find_unreadable_secrets(directory: Directory, secrets: Secrets) -> tuple[int, list[str]]:
    """Return how many secrets services refer to, and a line for each that cannot be read here."""
    named = list(list_named_secrets(directory))
    faults: list[str] = []
    for service, reference, is_file in named:
        try:
            if is_file:
                secrets.file(service, reference)
            secrets.secret(service, reference)
        except Misconfigured as fault:
            faults.append(f"{service.address}: {fault}")
    return len(named), faults


def list_named_secrets(directory: Directory) -> Iterator[NamedSecret]:
    """Yield every secret of push endpoints and AS2 identities, once per service."""
    for service in directory.services.values():
        found = {(service.as2.secret_from, False)} if service.as2 is not None else set()
        for place in service.push.places if service.push is not None else ():
            found.add((place.secret_from, place.authentication is PushAuthentication.CERTIFICATE))
        for reference, is_file in sorted(found):
            if reference:
                yield NamedSecret(service, reference, is_file)
