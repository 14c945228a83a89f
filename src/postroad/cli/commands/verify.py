"""``postroad verify``: read the whole journal back and say what is not as it was written."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import click

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_verification import verify as verify_postgres
from postroad.adapters.journal.segments import Fault, Progress
from postroad.adapters.journal.segments import verify as verify_segments
from postroad.bootstrap.running import JOURNAL_FOLDER
from postroad.bootstrap.settings import Settings
from postroad.cli.command import command
from postroad.cli.configuring import configured
from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.cli.stores import index_position, shared
from postroad.errors import Misconfigured
from postroad.ports import Head


@command
@click.option("--no-index", is_flag=True, help="Do not compare with the index; a cut-off end may then go unnoticed.")
@configured
def verify(out: Output, no_index: bool, settings: Settings) -> None:
    """Check that the journal is complete and unchanged.

    Works beside a running server and changes nothing. Exit code 1 when something was changed, is missing, repeated or cut off.
    """
    faults, seq = asyncio.run(_verified(out, settings, not no_index))
    out.value({"entries": seq, "faults": [fault._asdict() for fault in faults]})
    for fault in faults:
        kind = click.style(fault.kind, fg="red")
        out.say(f"{kind}: entry {fault.seq}, {fault.file} at {fault.offset}: {fault.detail}")
    if faults:
        out.say(f"{len(faults)} faults in {seq} entries: restore the journal from a copy")
        sys.exit(Exit.ERROR)
    out.say(f"{seq} entries, complete and unchanged")


async def _verified(out: Output, settings: Settings, with_index: bool) -> tuple[list[Fault], int]:
    expected = await index_position(settings) if with_index else None
    faults: list[Fault] = []
    seq = 0
    with out.progress("reading the journal", 1.0) as advance:
        async for found in _steps(settings, expected):
            if isinstance(found, Fault):
                faults.append(found)
            else:
                seq = found.seq
                advance(found.done_bytes / max(1, found.total_bytes))
    return faults, seq


async def _steps(settings: Settings, expected: Head | None) -> AsyncIterator[Progress | Fault]:
    if shared(settings):
        journal = await PostgresJournal.open(settings.postgres)
        try:
            async for found in verify_postgres(journal, expected):
                yield found
        finally:
            await journal.close()
        return
    path = settings.data / JOURNAL_FOLDER
    if not path.is_dir():
        raise Misconfigured([f"there is no journal in {settings.data}; --data names another folder"])
    for found in verify_segments(path, expected):
        yield found
