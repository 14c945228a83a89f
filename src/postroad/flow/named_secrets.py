"""The secrets that profiles name by reference: which there are, and which of them this node cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.directory import PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.ports import Secrets


class NamedSecret(NamedTuple):
    """A reference in a profile; a certificate must be a file, others may be variables."""

    service: Service
    reference: str
    is_file: bool


def unreadable_secrets(directory: Directory, secrets: Secrets) -> tuple[int, list[str]]:
    """How many secrets services name, and a line for each that is missing or cannot be read here."""
    named = list(named_secrets(directory))
    faults: list[str] = []
    for service, reference, is_file in named:
        try:
            if is_file:
                secrets.file(service, reference)
            secrets.secret(service, reference)
        except Misconfigured as fault:
            faults.append(f"{service.address}: {fault}")
    return len(named), faults


def named_secrets(directory: Directory) -> Iterator[NamedSecret]:
    """Every secret of a push endpoint or an AS2 identity, each once per service."""
    for service in directory.services.values():
        found = {(service.as2.secret_from, False)} if service.as2 is not None else set()
        for place in service.push.places if service.push is not None else ():
            found.add((place.secret_from, place.authentication is PushAuthentication.CERTIFICATE))
        for reference, is_file in sorted(found):
            if reference:
                yield NamedSecret(service, reference, is_file)
