"""``postroad apply``: show what the files would change, ask, and change it, all at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from postroad.cli.command import command
from postroad.cli.commands.keys import new_key, write_private
from postroad.cli.connection import Connection, connected
from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.cli.plan_view import plan_lines
from postroad.cli.references import read_documents
from postroad.client.certificates import with_proofs
from postroad.client.configuration import Plan
from postroad.errors import Misconfigured, Refused


@command
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--dry-run", is_flag=True, help="Only show the plan; exit code 2 when there are changes.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask. Refuses to reset fields; see --reset.")
@click.option(
    "--reset", is_flag=True, help="With --yes: also reset fields that the files do not name to their defaults."
)
@click.option("--make-keys", is_flag=True, help="Make the key files that keyFrom: file:… names and that are missing.")
@click.option(
    "--certificate-key",
    "certificate_keys",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The private key of a new client certificate, in PEM. May be given several times.",
)
@click.option("--prune", is_flag=True, help="Also remove what the files do not name, in the organizations they name.")
@connected
def apply(
    out: Output, files: tuple[str, ...], dry_run: bool, yes: bool, reset: bool, make_keys: bool,
    certificate_keys: tuple[Path, ...], prune: bool, connection: Connection,
) -> None:  # fmt: skip
    """Make the network's configuration match the files.

    Shows the plan first. The plan is applied as a whole or not at all, and only if nothing that it touches has changed
    since it was shown. Fields of organizations, people and services that the files do not name are reset to their
    defaults; the plan marks them, and --yes alone refuses them. The file - is standard input.

    A new client certificate needs a proof that you have its private key: --certificate-key signs a challenge with the key,
    which is not sent. Operators need no proof.
    """
    made: dict[Path, str] = {}
    document = read_documents(files, sys.stdin.read, os.environ, _key_maker(made) if make_keys else None)
    keys = [private_key(path) for path in certificate_keys]
    with connection.client() as client:
        document = with_proofs(client, document, keys)
        plan = client.plan(document, prune=prune)
        _show(out, plan)
        if dry_run or not plan.steps:
            _report(out, plan, applied=False)
            sys.exit(Exit.CHANGES if dry_run and plan.steps else Exit.OK)
        if not yes:
            agreed()
        elif plan.resets() and not reset:
            raise Misconfigured([_reset_refusal(plan)])
        with _written(made):
            applied = client.apply(document, prune=prune, version=plan.version)
        _report(out, applied, applied=True)
        out.say("Applied.")


def private_key(path: Path) -> bytes:
    """The private key in a PEM file."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = path.read_bytes()
        load_pem_private_key(key, None)
    except (OSError, ValueError, TypeError) as error:
        raise Misconfigured([f"{path}: this is not a private key in PEM form without a passphrase: {error}"]) from None
    return key


def _key_maker(made: dict[Path, str]) -> Callable[[Path], str]:
    """Draws the keys of missing key files; the files are written only once the network has accepted the plan."""

    def make(path: Path) -> str:
        return made.setdefault(path, new_key())

    return make


@contextmanager
def _written(made: Mapping[Path, str]) -> Iterator[None]:
    """Key files while their keys become valid: written before, and removed again if the network refuses the document."""
    for path, key in made.items():
        write_private(path, key)
    try:
        yield
    except Refused:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _reset_refusal(plan: Plan) -> str:
    resets = "; ".join(f"{name}: {', '.join(fields)}" for name, fields in plan.resets().items())
    return (
        f"nothing was applied: the files do not name fields that have another value than the default ({resets}). "
        "Add them to the files (`postroad export` prints them), or pass --reset to set them to their defaults"
    )


def agreed() -> None:
    """Asks whether to; returns if so."""
    try:
        does = click.confirm("Apply these changes?", err=True)
    except click.Abort:  # nobody is there to answer
        click.echo(err=True)
        raise Misconfigured(["nothing was applied, because nobody answered; --yes applies without asking"]) from None
    if not does:
        raise click.Abort


def _show(out: Output, plan: Plan) -> None:
    for line in plan_lines(plan):
        out.show(line)


def _report(out: Output, plan: Plan, *, applied: bool) -> None:
    out.value({"version": plan.version, "steps": plan.steps, "warnings": plan.warnings, "applied": applied})
