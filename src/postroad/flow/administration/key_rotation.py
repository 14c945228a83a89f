"""Rotation of the keys of the network: the master key, and the key of delivery tokens.

Rules: only operators rotate keys. Nothing stops meanwhile, and an interrupted rotation is continued by repeating the command.
The journal records who rotates which key before anything is changed, and once more when it is done; so a crash between leaves the
first entry.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.model.caller import Caller
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.stored_secrets import StoredTokenKey
from postroad.errors import Refused
from postroad.flow.administration.base import permission_denied
from postroad.flow.administration.secrets import NO_MASTER_KEY, require_vault
from postroad.flow.concurrency.commit import commit_step, run_to_completion
from postroad.flow.network import Network
from postroad.flow.registries.secret_keys import MasterKeyUse
from postroad.flow.registries.token_keys import TokenKeyRing
from postroad.ports import JournalStep


class NetworkKeys(NamedTuple):
    """The keys in use; none of them is shown, only their IDs."""

    available: tuple[str, ...]  # master keys that this node has, newest first
    use: MasterKeyUse
    token_keys: list[StoredTokenKey]  # oldest first; empty if they were never rotated


async def find_keys(network: Network, caller: Caller) -> NetworkKeys:
    """Return which keys are in use."""
    _check(caller)
    vault, ring = require_vault(network), _require_ring(network)
    await ring.load()
    return NetworkKeys(vault.keys.available, await vault.keys.count_uses(), ring.stored)


async def rotate_master(network: Network, caller: Caller) -> int:
    """Seal all keys with the newest master key of this node; returns how many were sealed again."""
    _check(caller)
    return await run_to_completion(_rotate_master(network, caller))


async def _rotate_master(network: Network, caller: Caller) -> int:
    keys = require_vault(network).keys
    await _record(
        network, caller, "master-key.rotating", f"all keys are sealed with the master key {keys.available[0]}"
    )
    done = await keys.rotate_master()
    await _record(
        network, caller, "master-key.rotated", f"{done} keys are sealed again, with the master key {keys.available[0]}"
    )
    return done


async def rotate_token(network: Network, caller: Caller) -> StoredTokenKey:
    """Begin to use a new key for delivery tokens."""
    _check(caller)
    return await run_to_completion(_rotate_token(network, caller))


async def _rotate_token(network: Network, caller: Caller) -> StoredTokenKey:
    ring = _require_ring(network)
    new = await ring.make_key()
    await _record(network, caller, "token-key.rotating", f"the new key is {new.id}")
    key = await ring.rotate(new)
    await _record(network, caller, "token-key.rotated", f"the new key is {key.id}")
    return key


async def _record(network: Network, caller: Caller, what: str, detail: str) -> None:
    entry = AccessRecorded(at_us=network.clock.now_us(), by=caller.name, what=what, detail=detail)
    await commit_step(network.desk, JournalStep(entry, reserve=True))


def _require_ring(network: Network) -> TokenKeyRing:
    if network.token_keys is None:
        raise Refused("secrets.unavailable", NO_MASTER_KEY)
    return network.token_keys


def _check(caller: Caller) -> None:
    if not caller.operator:
        raise permission_denied("Only operators may rotate the keys of the network, or see which are in use")
