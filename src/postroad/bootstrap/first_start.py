"""What a new network needs before anybody can do anything: a secret for tokens, and an operator with a key."""

from __future__ import annotations

import os
from pathlib import Path

from postroad.adapters.system import SystemRandomness
from postroad.core.identity import api_key
from postroad.core.model.directory import Credential, CredentialKind, Person
from postroad.flow.configure import saving
from postroad.flow.network import Network

SECRET_FILE = "token.secret"  # noqa: S105 - the name of a file
OPERATOR_KEY_FILE = "operator.key"
OPERATOR = "operator@localhost"


def token_key(data: Path, secret: str) -> bytes:
    """The key that delivery tokens are derived from: the setting, or one made once and kept in the data folder."""
    if secret:
        return bytes.fromhex(secret)
    path = data / SECRET_FILE
    if not path.exists():
        _write_private(path, SystemRandomness().bytes(32).hex())
    return bytes.fromhex(path.read_text().strip())


async def ensure_operator(network: Network, data: Path) -> str | None:
    """Make the first operator of an empty network; returns its key, which is also kept in a private file."""
    if any(person.operator for person in network.directory.people.values()):
        return None
    key = api_key.make(network.randomness.bytes(api_key.RANDOM_BYTES))
    operator = Person(email=OPERATOR, name="Operator", operator=True)
    credential = Credential(
        id=key.id,
        kind=CredentialKind.KEY,
        secret=key.hash,
        person=OPERATOR,
        label="made at the first start",
        created_at_us=network.clock.now_us(),
    )
    _write_private(data / OPERATOR_KEY_FILE, key.text)
    await network.configuration.change("network", [saving(operator), saving(credential)], "first start")
    return key.text


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
