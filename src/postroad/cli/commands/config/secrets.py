"""The commands ``postroad secrets …``: set, list and remove secrets, and rotate the network's keys.

Rule: a secret is never an argument, since other users of the machine can read those. It comes from a file, from standard
input, or from a prompt that does not show it.
"""

from __future__ import annotations

import secrets as randomness
import sys
from pathlib import Path

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.errors import Misconfigured

MASTER_KEY_BYTES = 32


@click.group()
def secrets() -> None:
    """Set the secrets that services use elsewhere, and rotate the network's keys.

    OWNER is an organization, or a service by its address or GCID. All services of an organization may use its secrets; the
    secret of a service is its own. Profiles refer to a secret as secret:NAME, for example in push.secretFrom.
    """


@command
@click.argument("owner")
@click.argument("name")
@click.option(
    "--file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Read the secret from a file."
)
@with_connection
def set_(out: Output, owner: str, name: str, file: Path | None, connection: NetworkConnection) -> None:
    """Set a secret, from --file, from standard input, or from a prompt.

    The next push uses it, on every node and without a restart. It cannot be read back. A final line end is removed.
    """
    value = _read_value(file)
    with connection.client() as client:
        done = client.secrets.set(owner, name, value)
    out.value(done)
    out.print(f"secret:{done.name} of {owner} is set, version {done.version}")


@command
@click.argument("owner")
@with_connection
def list_(out: Output, owner: str, connection: NetworkConnection) -> None:
    """List the secrets of an organization and its services, or of one service; never their values."""
    with connection.client() as client:
        found = client.secrets.list(owner)
    for one in found:
        out.value(one)
    if not found:
        out.print(f"{owner} has no secrets.")
        return
    rows = [
        [
            one.name, one.service or "(all services)", str(one.version), one.set_by, one.set_at,
            ", ".join(one.used_by) if one.is_stored else "lost: set it again",
        ]
        for one in found
    ]  # fmt: skip
    out.table(["NAME", "FOR", "VERSION", "SET BY", "SET AT", "USED BY"], rows)


@command
@click.argument("owner")
@click.argument("name")
@with_connection
def remove(out: Output, owner: str, name: str, connection: NetworkConnection) -> None:
    """Remove a secret; pushes that need it fail from now on."""
    with connection.client() as client:
        client.secrets.remove(owner, name)
    out.value({"owner": owner, "name": name, "removed": True})
    out.print(f"secret:{name} of {owner} is removed")


@command
@with_connection
def keys(out: Output, connection: NetworkConnection) -> None:
    """Show which master keys and token keys are in use, by their IDs; for operators."""
    with connection.client() as client:
        found = client.secrets.keys()
    out.value(found)
    rows = [
        ["master", one.id, "in use" if one.in_use else "old", f"seals {one.sealed_keys} keys"]
        for one in found.master_keys
    ]
    rows += [
        ["token", one.id, one.state, "" if one.from_entry is None else f"from entry {one.from_entry}"]
        for one in found.token_keys
    ]
    out.table(["KEY", "ID", "STATE", ""], rows)


@command
@with_connection
def rotate_master(out: Output, connection: NetworkConnection) -> None:
    """Seal all keys again with the newest master key; no secret is touched.

    Before: put the new key on the first line of master_key_file on every node, above the old one, and restart each node. Repeat
    the command if it was interrupted. Afterwards remove the old key from the file.
    """
    with connection.client() as client:
        done = client.secrets.rotate_master()
    out.value(done)
    out.print(f"everything is sealed with the master key {done.master_key} ({done.sealed_again} keys sealed again)")


@command
@with_connection
def rotate_token(out: Output, connection: NetworkConnection) -> None:
    """Use a new key for the tokens of later deliveries.

    Tokens of earlier deliveries stay valid until these have ended. All nodes follow within seconds.
    """
    with connection.client() as client:
        done = client.secrets.rotate_token()
    out.value(done)
    later = "" if done.state == "in use" else "; all nodes use it within half a minute"
    out.print(f"the new token key is {done.id}, {done.state}{later}")


@command
def new_master_key(out: Output) -> None:
    """Print a new master key, for master_key_file; it is not stored anywhere."""
    key = randomness.token_hex(MASTER_KEY_BYTES)
    out.value({"key": key})
    out.print(key)


def _read_value(file: Path | None) -> str:
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Misconfigured([f"{file}: cannot be read as text: {error}"]) from None
    elif sys.stdin.isatty():
        text = str(click.prompt("Secret", hide_input=True, confirmation_prompt=True, err=True))
    else:
        text = sys.stdin.read()
    return text.removesuffix("\n").removesuffix("\r")


for name, one in {
    "set": set_, "list": list_, "remove": remove, "keys": keys, "rotate-master": rotate_master,
    "rotate-token": rotate_token, "new-master-key": new_master_key,
}.items():  # fmt: skip
    secrets.add_command(one, name)
