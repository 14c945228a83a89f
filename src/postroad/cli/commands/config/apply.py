"""The commands ``postroad apply`` and ``postroad export``: plan and apply configuration files, and write them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.key_files import make_api_key, write_private
from postroad.cli.framework.output import Output
from postroad.cli.input.configuration import read_configuration_files
from postroad.cli.views.plans import plan_lines
from postroad.core.resources.configuration import PlanView
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
@click.option(
    "--prune",
    is_flag=True,
    help="In the organizations that the files name, also remove objects that the files do not name.",
)
@with_connection
def apply(
    out: Output, files: tuple[str, ...], dry_run: bool, yes: bool, reset: bool, make_keys: bool,
    certificate_keys: tuple[Path, ...], prune: bool, connection: NetworkConnection,
) -> None:  # fmt: skip
    """Make the network's configuration match the files.

    Shows the plan first. The plan is applied as a whole or not at all, and only if nothing that it touches has changed
    since it was shown. Fields of organizations, people and services that the files do not name are reset to their
    defaults; the plan marks them, and --yes alone refuses them. The file - is standard input.

    A new client certificate needs a proof that you have its private key: --certificate-key signs a challenge with the key,
    which is not sent. Operators need no proof.
    """
    made: dict[Path, str] = {}
    document = read_configuration_files(files, sys.stdin.read, os.environ, _key_maker(made) if make_keys else None)
    keys = [read_private_key_pem(path) for path in certificate_keys]
    with connection.client() as client:
        document = client.certificates.prove(document, keys)
        plan = client.plan(document, prune=prune)
        _show(out, plan)
        if dry_run or not plan.steps:
            _report(out, plan, applied=False)
            sys.exit(ExitCode.CHANGES if dry_run and plan.steps else ExitCode.OK)
        if not yes:
            confirm_plan()
        elif plan.resets() and not reset:
            raise Misconfigured([_reset_refusal(plan)])
        with _keys_on_disk(made):
            applied = client.apply(document, prune=prune, version=plan.version)
        _report(out, applied, applied=True)
        out.print("Applied.")


def read_private_key_pem(path: Path) -> bytes:
    """The private key in a PEM file."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = path.read_bytes()
        load_pem_private_key(key, None)
    except (OSError, ValueError, TypeError) as error:
        raise Misconfigured([f"{path}: this is not a private key in PEM form without a passphrase: {error}"]) from None
    return key


def _key_maker(made: dict[Path, str]) -> Callable[[Path], str]:
    """Return a function that makes missing keys; the files are written only once the network has accepted the plan."""

    def make(path: Path) -> str:
        return made.setdefault(path, make_api_key().text)

    return make


@contextmanager
def _keys_on_disk(made: Mapping[Path, str]) -> Iterator[None]:
    """Write the key files before the document is applied, and remove them if the network refuses it."""
    for path, key in made.items():
        write_private(path, key)
    try:
        yield
    except Refused:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _reset_refusal(plan: PlanView) -> str:
    resets = "; ".join(f"{name}: {', '.join(fields)}" for name, fields in plan.resets().items())
    return (
        f"nothing was applied: the files do not name fields that have another value than the default ({resets}). "
        "Add them to the files (`postroad export` prints them), or pass --reset to set them to their defaults"
    )


def confirm_plan() -> None:
    """Ask for confirmation; returns only if the answer is yes."""
    try:
        does = click.confirm("Apply these changes?", err=True)
    except click.Abort:  # no one is there to answer
        click.echo(err=True)
        raise Misconfigured(
            ["nothing was applied, because the prompt was not answered; --yes applies without asking"]
        ) from None
    if not does:
        raise click.Abort


def _show(out: Output, plan: PlanView) -> None:
    for line in plan_lines(plan):
        out.show(line)


def _report(out: Output, plan: PlanView, *, applied: bool) -> None:
    out.value({"version": plan.version, "steps": plan.steps, "warnings": plan.warnings, "applied": applied})


@command
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file instead.", metavar="FILE")
@with_connection
def export(out: Output, output: Path | None, connection: NetworkConnection) -> None:
    """Print the network's configuration as YAML.

    It holds no secrets, and applying it again changes nothing.
    """
    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        document = client.export()
    text = as_yaml(document)
    if output is not None:
        output.write_text(text)
        out.value({"file": str(output)})
        return
    out.value(document)
    out.print(text.rstrip())
