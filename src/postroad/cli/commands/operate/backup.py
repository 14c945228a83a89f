"""The command ``postroad backup``: copy a network beside its server, follow it, and verify the copy."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import click

from postroad.adapters.journal.backup.secret_files import NONE, PLAIN, SEALED
from postroad.adapters.journal.backup.status import Success
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.postgres_connections import is_away
from postroad.adapters.journal.segments import JournalDefect
from postroad.adapters.system import SystemClock
from postroad.bootstrap.backup_trial import BackupTrial, try_backup
from postroad.bootstrap.backups import NetworkBackup, note_verification, open_backup
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import INDEX_FILE
from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.server_process import run_until_signalled
from postroad.cli.framework.settings import with_settings
from postroad.core.identity.signed_head import head_text
from postroad.errors import Misconfigured, PostroadError, Unavailable

LOOK_EVERY_S = 0.2
NOTE_EVERY_S = 5.0  # how often a backup that is up to date says so
TRY_AGAIN_S = 5.0

SECRETS_OPTION = click.option(
    "--secrets",
    type=click.Choice([SEALED, PLAIN, NONE]),
    default=None,
    help="How to copy secrets (default: sealed if there is a master key, else plain).",
)
FOLDER_ARGUMENT = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))


class BackupCommands(click.Group):
    """A group in which ``run`` is the command if none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = [word for word in args if not word.startswith("-")]
        if named and named[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=BackupCommands)
def backup() -> None:
    """Copy a network to a folder, beside its running server.

    `postroad backup FOLDER` is short for `postroad backup run FOLDER`. The server is not stopped or slowed, and a second run
    copies only what is new. `postroad restore` restores the copy.
    """


@command
@FOLDER_ARGUMENT
@SECRETS_OPTION
@with_settings
def run(out: Output, folder: Path, secrets: str | None, settings: Settings) -> None:
    """Copy everything that is durable now.

    On the same file system, complete segments are linked, not copied. If the run is interrupted, the backup keeps what
    was complete before.
    """
    started = time.monotonic()
    asyncio.run(_run(out, folder, secrets or "", settings, started))


async def _run(out: Output, folder: Path, secrets: str, settings: Settings, started: float) -> None:
    async with open_backup(settings, folder, clock=SystemClock(), secrets=secrets) as backing:
        before = backing.manifest.entries
        copied = 0
        with out.progress("copying", 1.0) as advance:

            def show(progress: tuple[int, int, int]) -> None:
                nonlocal copied
                entries, of_entries, copied = progress
                advance(entries / max(1, of_entries))

            manifest = await backing.run(show)
    out.value(
        {
            "folder": str(folder),
            "entries": manifest.entries,
            "head": head_text(*manifest.head),
            "new_entries": manifest.entries - before,
            "copied_bytes": copied,
            "secrets": manifest.secrets,
            "seconds": round(time.monotonic() - started, 3),
        }
    )
    out.print(
        f"{manifest.entries} entries in {folder}, {manifest.entries - before} of them new ({copied} bytes copied)"
    )
    out.print(f"head {head_text(*manifest.head)}")
    _warn_of_plain_secrets(folder, manifest.secrets, len(manifest.secret_files))


def _warn_of_plain_secrets(folder: Path, mode: str, files: int) -> None:
    if mode == PLAIN and files:
        click.echo(
            f"{click.style('warning', fg='yellow')}: {folder} contains {files} secret files that are not sealed, because no "
            "master key is set (master_key_file); everyone who can read the folder can use them",
            err=True,
        )


@command
@FOLDER_ARGUMENT
@SECRETS_OPTION
@with_settings
def follow(out: Output, folder: Path, secrets: str | None, settings: Settings) -> None:
    """Copy new entries as they become durable, until interrupted.

    The copy is at most a second behind the server. While the disk is full or the database is unavailable, it is retried
    every 5 seconds.
    """
    run_until_signalled(_follow(out, folder, secrets or "", settings))


async def _follow(out: Output, folder: Path, secrets: str, settings: Settings) -> None:
    is_started = False
    while True:
        try:
            async with open_backup(settings, folder, clock=SystemClock(), secrets=secrets) as backing:
                manifest = await backing.run()
                out.value({"folder": str(folder), "entries": manifest.entries, "head": head_text(*manifest.head)})
                out.print(f"{manifest.entries} entries in {folder}; following (stop with Ctrl-C)")
                _warn_of_plain_secrets(folder, manifest.secrets, len(manifest.secret_files))
                is_started = True
                await _extend_forever(backing)
        except Unavailable as error:
            out.error(error.code, error.detail)
        except Misconfigured as error:
            if not (is_started and is_away(error)):  # the address is right: it was used before
                raise
            out.error("network.unavailable", str(error))
        await asyncio.sleep(TRY_AGAIN_S)


async def _extend_forever(backing: NetworkBackup) -> None:
    noted_at = time.monotonic()
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        changed = await backing.extend()
        now = time.monotonic()
        if changed or now - noted_at > NOTE_EVERY_S:
            noted_at = now
            await backing.note_success()


@command
@FOLDER_ARGUMENT
@click.option(
    "--restore",
    "try_restore",
    is_flag=True,
    help="Also restore it to a temporary folder, and open index and mailboxes.",
)
@with_settings
def verify(out: Output, folder: Path, try_restore: bool, settings: Settings) -> None:
    """Check that a backup is complete and unchanged.

    Each file is compared with backup.json, and the journal with its chain. --restore builds an index from it in a
    temporary folder, and compares it with the index of the network on this machine, if there is one.
    """
    faults: list[JournalDefect] = []
    entries, head = 0, b""
    with out.progress("reading the backup", 1.0) as advance:
        for found in verify_backup(folder):
            if isinstance(found, JournalDefect):
                faults.append(found)
            else:
                entries, head = found.seq or entries, found.chain or head
                advance(found.done_bytes / max(1, found.total_bytes))
    trial = asyncio.run(_try(out, folder, settings)) if try_restore and not faults else None
    is_good = not faults and not (trial and trial.differences)
    if is_good:
        _note_verification(out, settings, entries, folder)
    out.value(
        {
            "folder": str(folder),
            "entries": entries,
            "head": head_text(entries, head),
            "faults": [fault._asdict() for fault in faults],
            "restored": trial._asdict() if trial else None,
        }
    )
    _report(out, faults, entries, head_text(entries, head), trial)
    if not is_good:
        sys.exit(ExitCode.ERROR)


def _note_verification(out: Output, settings: Settings, entries: int, folder: Path) -> None:
    success = Success(at=SystemClock().now_us() / 1e6, entry=entries, folder=str(folder.resolve()))
    try:
        asyncio.run(note_verification(settings, success))
    except (OSError, PostroadError) as error:
        out.error("storage.failed", f"metrics, doctor and notifications show an earlier verification: {error}")


async def _try(out: Output, folder: Path, settings: Settings) -> BackupTrial:
    index = settings.data / INDEX_FILE
    is_ours = settings.index == "sqlite" and index.exists()
    with tempfile.TemporaryDirectory(prefix="postroad-verify-") as scratch, out.progress("restoring", None) as advance:
        return await try_backup(folder, Path(scratch), index if is_ours else None, SystemClock(), advance)


def _report(out: Output, faults: list[JournalDefect], entries: int, head: str, trial: BackupTrial | None) -> None:
    for fault in faults:
        out.print(f"{click.style(fault.kind, fg='red')}: {fault.file} at {fault.offset}: {fault.detail}")
    if faults:
        out.print(f"{len(faults)} errors: use another copy of the backup, or make a new one in another folder")
        return
    out.print(f"{entries} entries, complete and unchanged")
    out.print(f"head {head}")
    if trial is None:
        return
    out.print(f"restored: {trial.entries} entries in the index, {trial.waiting} deliveries wait")
    for difference in trial.differences:
        out.print(f"{click.style('index', fg='red')}: {difference}")
    if trial.is_compared:
        out.print(f"compared with the index of the network: {trial.compared}")
    else:
        out.print("not compared with an index: there is none in the data folder of this machine")


for step in (run, follow, verify):
    backup.add_command(step)
