"""``postroad tail``: messages of one's services as they come, and what becomes of them."""

from __future__ import annotations

import contextlib
import time

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.following import BOXES, Following, Seen
from postroad.cli.output import Output
from postroad.core.audit.story import shown_state

FOLLOWING_TRIES = 12  # a server that is started again in between is followed on
STATES = {"accepted": "cyan", "queued": "yellow", "delivered": "green"}


@command
@click.option("--service", default="", help="Only of this service; all of yours otherwise.")
@click.option("--box", "boxes", multiple=True, type=click.Choice(BOXES), help="Only sent, received or refused ones.")
@click.option("--topic", default="", help="Only with this topic.")
@click.option("--last", default=10, type=click.IntRange(0, 200), help="Begin with this many.", show_default=True)
@click.option(
    "--every", "pause_s", default=1.0, type=click.FloatRange(0.1), help="Seconds between looks.", show_default=True
)
@click.option("--once", is_flag=True, help="Show what there is and stop.")
@connected
def tail(
    out: Output, service: str, boxes: tuple[str, ...], topic: str, last: int, pause_s: float, once: bool,
    connection: Connection,
) -> None:  # fmt: skip
    """Follow messages as they are posted.

    A line for each message that your services sent, received or were refused, and another when its state changes. Stop with
    Ctrl-C.
    """
    with connection.client(tries=FOLLOWING_TRIES) as client, contextlib.suppress(KeyboardInterrupt):
        following = Following(client, boxes or BOXES, service=service, topic=topic, last=last)
        while True:
            for seen in following.news():
                _print(out, seen)
            if following.missed:
                click.echo("… more came at once than can be followed; not all is shown", err=True)
            if once:
                return
            time.sleep(pause_s)


def _print(out: Output, seen: Seen) -> None:
    out.value(seen)
    colour = STATES.get(seen.state, "red")
    what = " ".join(word for word in (seen.type, seen.topic, seen.handle) if word)
    to = ", ".join(seen.recipients) or "?"
    out.say(
        f"{seen.at[11:23]} {seen.session} {click.style(f'{shown_state(seen.state):<9}', fg=colour)} "
        f"{seen.sender or '?'} → {to}  {what} {seen.size} B{' ' + seen.code if seen.code else ''}"
    )
