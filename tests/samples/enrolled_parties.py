"""The services that fault and acceptance tests speak for, written into a network's stores before its server starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroad.bootstrap import open_network, read_settings
from postroad.core.identity import api_key
from postroad.core.model import ids
from postroad.core.model.directory import Credential, CredentialKind, Organization, Service, Visibility
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing.server import COMMAND, ServerProcess


@dataclass(frozen=True, kw_only=True)
class Party:
    """A service to enroll: its address, what differs from the usual profile, and certificates it may come with."""

    address: str
    profile: Mapping[str, Any] = field(default_factory=dict)
    certificates: Sequence[Credential] = ()  # their service is filled in here


async def enroll(server: ServerProcess, *parties: Party | str) -> dict[str, str]:
    """Make the services, and return a key for each by its address; the server must not run yet."""
    settings = read_settings(
        file=Path(os.devnull), environment={}, overrides={k: str(v) for k, v in server.settings.items()}
    )
    keys: dict[str, str] = {}
    changes: list[DirectoryChange] = []
    for party in parties:
        party = Party(address=party) if isinstance(party, str) else party
        key = api_key.make(os.urandom(api_key.RANDOM_BYTES))
        keys[party.address] = key.text
        changes += _changes(party, key)
    async with open_network(settings) as running:
        await running.network.configuration.change("test", list({(c.kind, c.key): c for c in changes}.values()))
    return keys


def _changes(party: Party, key: api_key.ApiKey) -> list[DirectoryChange]:
    organization, _, name = party.address.partition("/")
    profile = {"visibility": Visibility.PUBLIC, **party.profile}
    service = Service(gcid=ids.gcid(os.urandom(8)), organization=organization, name=name, **profile)
    key_credential = Credential(id=key.id, kind=CredentialKind.KEY, secret=key.hash, service=service.gcid)
    certificates = [replace(certificate, service=service.gcid) for certificate in party.certificates]
    return [
        build_save(Organization(name=organization)),
        build_save(service),
        build_save(key_credential),
        *map(build_save, certificates),
    ]


@contextmanager
def serving(
    data: Path, *parties: Party | str, settings: Mapping[str, object] | None = None, command: Sequence[str] = COMMAND
) -> Iterator[tuple[ServerProcess, dict[str, str]]]:
    """A running server in which these services are enrolled, and their keys."""
    server = ServerProcess(data, settings, command=command)
    keys = asyncio.run(enroll(server, *parties))
    with server:
        yield server, keys
