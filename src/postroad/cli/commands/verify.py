"""``postroad verify``: read the whole journal back and report what is not as it was written."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from postroad.adapters.index.comparison import compare_with_journal
from postroad.adapters.index.sqlite_file import UnusableIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_verification import verify as verify_postgres
from postroad.adapters.journal.segments import Fault, Progress
from postroad.adapters.journal.segments import verify as verify_segments
from postroad.bootstrap.running import INDEX_FILE, JOURNAL_FOLDER
from postroad.bootstrap.settings import Settings
from postroad.cli.command import command
from postroad.cli.configuring import configured
from postroad.cli.exits import Exit
from postroad.cli.noted_heads import read_noted_heads
from postroad.cli.output import Output
from postroad.cli.stores import index_position, reading_journal, shared
from postroad.core.identity.signed_head import head_text
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import Head

NOTHING_COMPARED = (
    "not compared with anything: no index and no noted head was at hand, so a journal that was cut off or rewritten "
    "would look the same; compare with --head"
)


class Found(NamedTuple):
    """What the journal looks like, and what is wrong with it or its index."""

    head: Head
    faults: list[Fault]
    index_state: str  # "same", "damaged", "none" or "not compared"
    index_faults: list[str]


@command
@click.option("--no-index", is_flag=True, help="Do not compare with the index; a cut-off end may then go unnoticed.")
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="SEQ:HASH|FILE",
    help="A head noted earlier, or a file of them, that the journal must contain; repeatable.",
)
@click.option(
    "--public-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The Ed25519 key (PEM) that signed the heads in files.",
)
@configured
def verify(out: Output, no_index: bool, heads: tuple[str, ...], public_key: Path | None, settings: Settings) -> None:
    """Check that the journal is complete and unchanged.

    Works beside a running server and changes nothing. The journal is compared with the index, row by row, and with heads noted
    earlier. Exit code 1 when something was changed, is missing, repeated or cut off, or the index is damaged; 5 when no fault was
    found but there was neither an index nor a noted head to compare with.
    """
    noted = read_noted_heads(heads, public_key)
    found = asyncio.run(_verified(out, settings, noted, with_index=not no_index))
    out.value(
        {
            "entries": found.head.seq,
            "head": head_text(*found.head),
            "faults": [fault._asdict() for fault in found.faults],
            "index": found.index_state,
            "index_faults": found.index_faults,
            "noted_heads": len(noted),
        }
    )
    sys.exit(_report(out, found, len(noted)))


def _report(out: Output, found: Found, noted: int) -> Exit:
    for fault in found.faults:
        kind = click.style(fault.kind, fg="red")
        out.say(f"{kind}: entry {fault.seq}, {fault.file} at {fault.offset}: {fault.detail}")
    for detail in found.index_faults:
        out.say(f"{click.style('index', fg='red')}: {detail}")
    if found.faults:
        out.say(f"{len(found.faults)} faults in {found.head.seq} entries: restore the journal from a copy")
        return Exit.ERROR
    out.say(f"{found.head.seq} entries, complete and unchanged")
    out.say(f"head {head_text(*found.head)}")
    if found.index_faults:
        out.say("the index does not match: stop the server and run `postroad index rebuild`; nothing is lost")
        return Exit.ERROR
    index = (
        "the index" if noted else "the index of this machine (--head compares with a head that you stored elsewhere)"
    )
    witnesses = [index] * (found.index_state == "same") + [f"noted heads: {noted}"] * bool(noted)
    out.say("compared with " + ", ".join(witnesses) if witnesses else NOTHING_COMPARED)
    return Exit.OK if witnesses else Exit.NOT_COMPARED


async def _verified(out: Output, settings: Settings, noted: Sequence[Head], *, with_index: bool) -> Found:
    expected, index_faults = await _index_head(settings) if with_index else (None, [])
    faults: list[Fault] = []
    head = Head(0, bytes(32))
    with out.progress("reading the journal", 1.0) as advance:
        async for found in _steps(settings, expected, noted):
            if isinstance(found, Fault):
                faults.append(found)
            else:
                head = Head(found.seq, found.chain or head.chain)
                advance(found.done_bytes / max(1, found.total_bytes))
    if not with_index:
        return Found(head, faults, "not compared", [])
    if expected is not None and not faults and settings.index == "sqlite":
        index_faults = await _compared(out, settings, expected)
    index = "damaged" if index_faults else "same" if expected is not None else "none"
    return Found(head, faults, index, index_faults)


async def _index_head(settings: Settings) -> tuple[Head | None, list[str]]:
    """The index's position, or why it cannot be read."""
    try:
        return await index_position(settings), []
    except (UnusableIndex, Unavailable) as error:
        return None, [str(error)]


async def _compared(out: Output, settings: Settings, expected: Head) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="postroad-verify-") as folder:
        async with reading_journal(settings) as journal:
            with out.progress("comparing with the index", max(1, expected.seq)) as advance:
                try:
                    return await compare_with_journal(
                        journal,
                        settings.data / INDEX_FILE,
                        Path(folder) / INDEX_FILE,
                        lambda head: advance(head.seq),
                    )
                except UnusableIndex as error:
                    return list(error.faults)


async def _steps(settings: Settings, expected: Head | None, noted: Sequence[Head]) -> AsyncIterator[Progress | Fault]:
    if shared(settings):
        journal = await PostgresJournal.open(settings.postgres)
        try:
            async for found in verify_postgres(journal, expected, noted):
                yield found
        finally:
            await journal.close()
        return
    path = settings.data / JOURNAL_FOLDER
    if not path.is_dir():
        raise Misconfigured([f"there is no journal in {settings.data}; --data names another folder"])
    for found in verify_segments(path, expected, noted=noted):
        yield found
