"""The first start of a network: creates the token secret, the network level, and an operator with a key."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from postroad.adapters.journal.segments import RealFiles
from postroad.adapters.system import SystemRandomness
from postroad.core.identity import api_key
from postroad.core.model import ids
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Credential, CredentialKind, Organization, Person, Service, Visibility
from postroad.core.model.level import newest_level
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import build_address_claims
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.services.provisioning import TOPICS

SECRET_FILE = "token.secret"  # noqa: S105 - the name of a file
OPERATOR_KEY_FILE = "operator.key"
OPERATOR = "operator@localhost"
OWN_ORGANIZATION, OWN_SERVICE = "Network", "Provisioning"

log = logging.getLogger(__name__)


def load_token_key(data: Path, secret: str) -> bytes:
    """Return the key that delivery tokens are derived from: the setting, or one generated once in the data folder."""
    if secret:
        return bytes.fromhex(secret)
    path = data / SECRET_FILE
    if not path.exists():
        _write_private(path, SystemRandomness().bytes(32).hex())
    return bytes.fromhex(path.read_text().strip())


async def ensure_operator(network: Network, data: Path) -> str | None:
    """Create the first operator of an empty network; returns the key, which is also stored in a private file."""
    if await _has_operator(network):
        return None
    key = api_key.make(network.randomness.bytes(api_key.RANDOM_BYTES))
    operator = Person(email=OPERATOR, name="Operator", operator=True)
    credential = Credential(
        id=key.id,
        kind=CredentialKind.KEY,
        secret=key.hash,
        person=OPERATOR,
        label="created at the first start",
        created_at_us=network.clock.now_us(),
    )
    _write_private(data / OPERATOR_KEY_FILE, key.text)
    try:
        first = [build_save(newest_level(), 0), build_save(operator), build_save(credential)]
        await network.configuration.change("network", first, "first start")
    except Refused:  # another node was faster, and has the key
        (data / OPERATOR_KEY_FILE).unlink()
        await _catch_up(network)
        return None
    return key.text


def has_operator_password(directory: Directory) -> bool:
    """Whether any operator has a password and can log in to the console without a link."""
    operators = [person.email for person in directory.people.values() if person.operator]
    credentials = (item for email in operators for item in directory.credentials_of(person=email))
    return any(item.kind is CredentialKind.PASSWORD for item in credentials)


async def _has_operator(network: Network) -> bool:
    """Whether an operator exists; waits for recent changes of other nodes before returning False."""

    def known() -> bool:
        return any(person.operator for person in network.directory.people.values())

    if not known():
        await _catch_up(network)
    return known()


async def _catch_up(network: Network) -> None:
    await network.wait_until_indexed()
    await network.configuration.load()


async def ensure_own_service(network: Network) -> None:
    """Create the network's own provisioning service if it does not exist yet."""
    if any(service.hosted is Hosting.PROVISIONING for service in network.directory.services.values()):
        return
    org = network.directory.organization(OWN_ORGANIZATION)
    service = Service(
        gcid=ids.gcid(network.randomness.bytes(8)),
        organization=OWN_ORGANIZATION,
        name=OWN_SERVICE,
        description="Confirm or revoke a provisioning, or register a cookie",
        visibility=Visibility.PUBLIC,
        operations=TOPICS,
        hosted=Hosting.PROVISIONING,
    )
    if org is not None:
        log.error(
            "start.name_taken: %s could not be created, because an organization with this name exists; rename it and restart",
            service.address,
        )
        return
    own = Organization(name=OWN_ORGANIZATION, description="This network itself")
    changes = [build_save(own, 0), build_save(service), *build_address_claims(None, service, network.directory)]
    try:
        await network.configuration.change("network", changes, "first start")
    except Refused:  # another node was faster
        await _catch_up(network)


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    RealFiles().make_directory(path.parent)
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    RealFiles().sync_directory(path.parent)  # all later tokens and pseudonyms depend on this file
