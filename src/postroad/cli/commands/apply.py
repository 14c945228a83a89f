"""``postroad apply``: show what the files would change, ask, and change it, all at once."""

from __future__ import annotations

import os
import sys

import click

from postroad.cli.command import command
from postroad.cli.commands.keys import made_key, new_key
from postroad.cli.connection import Connection, connected
from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.cli.plan_view import plan_lines
from postroad.cli.references import read_documents
from postroad.client.configuration import Plan
from postroad.errors import Misconfigured


@command
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--dry-run", is_flag=True, help="Only show the plan; exit code 2 when there are changes.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--make-keys", is_flag=True, help="Make the key files that keyFrom: file:… names and that are missing.")
@click.option("--prune", is_flag=True, help="Also remove what the files do not name, in the organizations they name.")
@connected
def apply(
    out: Output, files: tuple[str, ...], dry_run: bool, yes: bool, make_keys: bool, prune: bool, connection: Connection
) -> None:  # fmt: skip
    """Make the network's configuration what the files say.

    The plan is shown first. It is applied whole or not at all, and only as long as it is still the plan that was shown.
    A file named - is standard input.
    """
    make_key = None if not make_keys else (lambda path: new_key()) if dry_run else made_key
    document = read_documents(files, sys.stdin.read, os.environ, make_key)
    with connection.client() as client:
        plan = client.plan(document, prune=prune)
        _show(out, plan)
        if dry_run or not plan.steps:
            _report(out, plan, applied=False)
            sys.exit(Exit.CHANGES if dry_run and plan.steps else Exit.OK)
        if not yes:
            agreed()
        _report(out, client.apply(document, prune=prune, version=plan.version), applied=True)
        out.say("Applied.")


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
    out.value({"version": plan.version, "steps": plan.steps, "applied": applied})
