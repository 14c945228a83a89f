"""The command ``postroad bodies``: delete stored bodies of old messages; facts and the audit trail stay."""

from __future__ import annotations

import asyncio

import click

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import SegmentJournal
from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.input.message_options import parse_moment, to_microseconds
from postroad.errors import Misconfigured
from postroad.flow.retention import find_retention_limit


@click.group()
def bodies() -> None:
    """Manage stored message bodies."""


@command
@click.option("--before", required=True, metavar="TIME", help="A time, or how long ago: 30d, 48h.")
@with_settings
def drop(out: Output, before: str, settings: Settings) -> None:
    """Drop the bodies of messages posted before a time.

    Metadata stays, so histories and `postroad verify` stay complete. Bodies that still wait for a receiver, and all after
    the oldest of them, are kept. With the embedded journal the server must be stopped, and whole segments are
    dropped.
    """
    dropped = asyncio.run(_drop_bodies(settings, to_microseconds(parse_moment(before, past=True))))
    out.value(dropped)
    out.print(", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in dropped.items()))


async def _drop_bodies(settings: Settings, before_us: int) -> dict[str, int]:
    async with open_network(settings) as running:
        await running.network.wait_until_indexed()
        before_seq = await find_retention_limit(running.network.index, before_us)
        match running.network.journal:
            case SegmentJournal() as segments:
                done = await segments.drop_bodies(before_seq)
                return {"before_entry": before_seq, "segments": done.segments, "freed_bytes": done.freed_bytes}
            case PostgresJournal() as table:
                return {"before_entry": before_seq, "groups": await table.drop_bodies(before_seq)}
    raise Misconfigured(["a network in memory stores no bodies"])


bodies.add_command(drop)
