"""``postroad bench``: a quick load against a running network, from posting to acknowledgement."""

from __future__ import annotations

import asyncio

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.load import Load, Measured, measured
from postroad.cli.output import Output


@command
@click.option("--messages", default=2000, type=click.IntRange(1), help="How many messages.", show_default=True)
@click.option("--clients", default=16, type=click.IntRange(1, 256), help="How many post at a time.", show_default=True)
@click.option("--bytes", "size_bytes", default=2048, type=click.IntRange(1), help="Size of each.", show_default=True)
@click.option("--bulk", is_flag=True, help="Post in bulk instead of one by one.")
@connected
def bench(out: Output, messages: int, clients: int, size_bytes: int, bulk: bool, connection: Connection) -> None:
    """Measure a running network with a quick load.

    Needs an operator's key: it registers an organization PostroadBench with a sender and a receiver. This client shares the
    machine with the server when both run on one, so the figures are lower than what the network can do.
    """
    load = Load(messages=messages, clients=clients, size_bytes=size_bytes, bulk=bulk)
    with out.progress("posting and receiving", messages * 2) as advance:
        found = asyncio.run(measured(connection.access(), load, advance))
    out.value(found)
    out.table(("", "messages/s", "p50 ms", "p99 ms"), _rows(found))


def _rows(found: Measured) -> list[tuple[str, ...]]:
    return [
        ("post", f"{found.posts_per_s:.0f}", f"{found.post_p50_ms:.1f}", f"{found.post_p99_ms:.1f}"),
        (
            "post to receipt",
            f"{found.receipts_per_s:.0f}",
            f"{found.receipt_p50_ms:.1f}",
            f"{found.receipt_p99_ms:.1f}",
        ),
    ]
