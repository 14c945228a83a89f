"""The command ``postroad restore``: restore a network from a backup, up to its end or an earlier moment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.secret_store.sqlite import FILE as SECRETS_FILE
from postroad.adapters.system import SystemClock
from postroad.bootstrap.restores import (
    SKIP_NUMBERS,
    RestorePlan,
    open_secrets,
    restore_into_folder,
    restore_into_postgres,
    write_secrets,
)
from postroad.bootstrap.settings import Settings
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import gather_settings
from postroad.cli.input.message_options import parse_moment, to_microseconds
from postroad.core.identity.signed_head import head_text
from postroad.core.model.level import NEWEST, NetworkLevel, require_readable
from postroad.errors import Misconfigured
from postroad.ports import JournalHead


@command
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "data", type=click.Path(file_okay=False, path_type=Path), help="An empty data folder.")
@click.option(
    "--to-postgres", "dsn", metavar="DSN", help="An empty database; --to then receives only the files with secrets."
)
@click.option("--until", metavar="ENTRY|TIME", help="The last entry to restore, or a time (default: the backup's end).")
@click.option(
    "--skip-numbers",
    type=click.IntRange(min=0),
    default=SKIP_NUMBERS,
    show_default=True,
    help="Control numbers that each series skips, because they may have been used since.",
)
@click.option("--reason", default="", help="Why, for the audit trail.")
@click.option(
    "--nothing-lost",
    is_flag=True,
    help="The network was stopped before the backup was made: no delivery is a possible duplicate, no number is skipped.",
)
@click.option("--no-secrets", is_flag=True, help="Do not restore the files with secrets.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings in TOML, for the master key.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change one setting; repeatable.")
def restore(
    out: Output,
    *,
    folder: Path,
    data: Path | None,
    dsn: str | None,
    until: str | None,
    skip_numbers: int,
    reason: str,
    nothing_lost: bool,
    no_secrets: bool,
    config: Path | None,
    changes: tuple[str, ...],
) -> None:
    """Restore a network from a backup.

    The restored network does not know what happened after the last entry. It hands out messages that were posted before
    the restore as possible duplicates, and skips control numbers; an entry in the journal records both. Start the server
    on the data folder afterwards; it builds the index.
    """
    if data is None and dsn is None:
        raise click.UsageError("name an empty data folder with --to, or a database with --to-postgres")
    if nothing_lost and until:
        raise click.UsageError("--nothing-lost restores everything; leave out --until")
    contents = BackupContents(folder)
    require_readable(NetworkLevel(level=contents.manifest.level))
    plan = RestorePlan(
        contents=contents,
        cut=_find_cut(out, contents, until),
        skip_numbers=skip_numbers,
        reason=reason,
        nothing_lost=nothing_lost,
        with_secrets=not no_secrets,
    )
    settings = gather_settings(config, str(data) if data else "", changes)
    head, secrets = asyncio.run(_restore(out, plan, settings, data, dsn))
    target = "the database" if dsn else str(data)
    out.value(
        {
            "folder": str(folder),
            "target": target,
            "entries": plan.cut,
            "of_entries": contents.manifest.entries,
            "head": head_text(*head),
            "skip_numbers": 0 if nothing_lost else skip_numbers,
            "secrets": secrets,
        }
    )
    _report(out, plan, target, head)


def _find_cut(out: Output, contents: BackupContents, until: str | None) -> int:
    """Return the last entry to restore; raises Misconfigured if the backup does not contain it."""
    entries = contents.manifest.entries
    if until is None:
        return entries
    if until.isdecimal():
        cut = int(until)
    else:
        moment = parse_moment(until, past=True)
        with out.progress("looking for the time", None):
            cut = contents.find_last_entry(to_microseconds(moment))
    if not 0 < cut <= entries:
        raise Misconfigured(
            [f"restore: {contents.path} has the entries 1 to {entries}, and --until {until} is outside"]
        )
    return cut


async def _restore(
    out: Output, plan: RestorePlan, settings: Settings, data: Path | None, dsn: str | None
) -> tuple[JournalHead, bool]:
    """Return the head of the restored journal, and whether secrets were restored."""
    clock = SystemClock()
    with out.progress("restoring", plan.cut) as advance:
        if dsn is None:
            return await restore_into_folder(plan, settings, clock, advance), plan.with_secrets
        secrets = await open_secrets(plan, settings, clock, only_stores=data is None)
        files = {name: text for name, text in secrets.items() if name != SECRETS_FILE}
        head = await restore_into_postgres(plan, dsn, clock, advance, secrets.get(SECRETS_FILE, b""))
        if data is not None:
            write_secrets(data, files)
        return head, bool(secrets)


def _report(out: Output, plan: RestorePlan, target: str, head: JournalHead) -> None:
    manifest = plan.contents.manifest
    out.print(f"restored entries 1 to {plan.cut} of {manifest.entries} into {target}")
    out.print(f"head {head_text(*head)}")
    if plan.nothing_lost:
        return
    if head.seq > plan.cut + 1:
        out.print(
            f"entry {head.seq - 1} raises the network level to {NEWEST}: earlier versions cannot open this network"
        )
    out.print(f"entry {head.seq} records the restore: older messages are handed out as possible duplicates")
    out.print(f"control numbers: each series skips {plan.skip_numbers}")
