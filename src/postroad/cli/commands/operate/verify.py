"""The commands ``postroad verify`` and ``postroad head``: verify the journal, and print its head to store it elsewhere."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click

from postroad.adapters.index.comparison import compare_with_journal
from postroad.adapters.index.sqlite_file import OutdatedIndex, UnusableIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_verification import verify as verify_postgres
from postroad.adapters.journal.segments import JournalDefect, VerificationProgress
from postroad.adapters.journal.segments import verify as verify_segments
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import INDEX_FILE, JOURNAL_FOLDER
from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.framework.stores import is_shared, open_journal, read_index_position, read_journal_head
from postroad.cli.input.journal_heads import read_noted_heads, read_private_key, write_new_key
from postroad.core.identity.signed_head import head_text, sign_head
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead


@command
@click.option(
    "--sign",
    "key_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEYFILE",
    help="Print a line with the time and a signature by this Ed25519 key (PEM).",
)
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="KEYFILE",
    help="Only create a key pair for --sign: KEYFILE and KEYFILE.pub.",
)
@with_settings
def head(out: Output, key_file: Path | None, new_key: Path | None, settings: Settings) -> None:
    """Print the journal's head, to store it elsewhere.

    The head is the number of the last entry and the hash over all entries up to it. `postroad verify --head` compares
    a journal with heads noted earlier. Works beside a running server and changes nothing.
    """
    if new_key is not None:
        public_key = write_new_key(new_key)
        out.value({"key": str(new_key), "public_key": str(public_key)})
        out.print(f"private key {new_key}, public key {public_key}")
        return
    found = asyncio.run(_head(settings))
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = sign_head(*found, now, read_private_key(key_file)) if key_file else head_text(*found)
    out.value({"entries": found.seq, "head": head_text(*found), "line": line})
    out.print(line)


async def _head(settings: Settings) -> JournalHead:
    async with open_journal(settings) as journal:
        return await read_journal_head(journal)


NOTHING_COMPARED = (
    "not compared: there was neither an index nor a noted head, so a truncated or rewritten journal would not be "
    "noticed; compare with --head"
)


class JournalCheck(NamedTuple):
    """The result of a verification: the journal's head, and the errors of journal and index."""

    head: JournalHead
    faults: list[JournalDefect]
    index_state: str  # "same", "damaged", "none" or "not compared"
    index_faults: list[str]


@command
@click.option(
    "--no-index", is_flag=True, help="Do not compare with the index; a truncated journal may then go unnoticed."
)
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
@with_settings
def verify(out: Output, no_index: bool, heads: tuple[str, ...], public_key: Path | None, settings: Settings) -> None:
    """Check that the journal is complete and unchanged.

    Works beside a running server and changes nothing. The journal is compared with the index, row by row, and with
    heads noted earlier. Exit code 1 when something was changed, is missing, repeated or cut off, or the index is
    damaged; 5 when no difference was found but there was neither an index nor a noted head to compare with.
    """
    noted = read_noted_heads(heads, public_key)
    found = asyncio.run(_verify_journal(out, settings, noted, with_index=not no_index))
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


def _report(out: Output, found: JournalCheck, noted: int) -> ExitCode:
    for fault in found.faults:
        kind = click.style(fault.kind, fg="red")
        out.print(f"{kind}: entry {fault.seq}, {fault.file} at {fault.offset}: {fault.detail}")
    for detail in found.index_faults:
        out.print(f"{click.style('index', fg='red')}: {detail}")
    if found.faults:
        out.print(f"{len(found.faults)} errors in {found.head.seq} entries: restore the journal from a copy")
        return ExitCode.ERROR
    out.print(f"{found.head.seq} entries, complete and unchanged")
    out.print(f"head {head_text(*found.head)}")
    if found.index_faults:
        out.print("the index does not match: stop the server and run `postroad index rebuild`; nothing is lost")
        return ExitCode.ERROR
    index = (
        "the index" if noted else "the index of this machine (--head compares with a head that you stored elsewhere)"
    )
    witnesses = [index] * (found.index_state == "same") + [f"noted heads: {noted}"] * bool(noted)
    if found.index_state == "outdated":
        out.print(
            "the index was written by an earlier version; the server migrates it when it starts, then it is compared"
        )
    out.print("compared with " + ", ".join(witnesses) if witnesses else NOTHING_COMPARED)
    return ExitCode.OK if witnesses else ExitCode.NOT_COMPARED


async def _verify_journal(
    out: Output, settings: Settings, noted: Sequence[JournalHead], *, with_index: bool
) -> JournalCheck:
    expected, index_faults, state = await _index_head(settings) if with_index else (None, [], "not compared")
    faults: list[JournalDefect] = []
    head = JournalHead(0, bytes(32))
    with out.progress("reading the journal", 1.0) as advance:
        async for found in _verification_steps(settings, expected, noted):
            if isinstance(found, JournalDefect):
                faults.append(found)
            else:
                head = JournalHead(found.seq, found.chain or head.chain)
                advance(found.done_bytes / max(1, found.total_bytes))
    if expected is not None and not faults and settings.index == "sqlite":
        index_faults = await _compare_index(out, settings, expected)
    return JournalCheck(head, faults, "damaged" if index_faults else state, index_faults)


async def _index_head(settings: Settings) -> tuple[JournalHead | None, list[str], str]:
    """Return the index's position, the reasons why it cannot be read, and its state if it turns out to be undamaged."""
    try:
        position = await read_index_position(settings)
    except OutdatedIndex:
        return None, [], "outdated"
    except (UnusableIndex, Unavailable) as error:
        return None, [str(error)], "damaged"
    return position, [], "none" if position is None else "same"


async def _compare_index(out: Output, settings: Settings, expected: JournalHead) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="postroad-verify-") as folder:
        async with open_journal(settings) as journal:
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


async def _verification_steps(
    settings: Settings, expected: JournalHead | None, noted: Sequence[JournalHead]
) -> AsyncIterator[VerificationProgress | JournalDefect]:
    if is_shared(settings):
        journal = await PostgresJournal.open(settings.postgres)
        try:
            async for found in verify_postgres(journal, expected, noted):
                yield found
        finally:
            await journal.close()
        return
    path = settings.data / JOURNAL_FOLDER
    if not path.is_dir():
        raise Misconfigured([f"there is no journal in {settings.data}; use --data for another folder"])
    for found in verify_segments(path, expected, noted=noted):
        yield found
