"""The command ``postroad tail``: follow the message lists of services, and print new and changed lines."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Iterable
from math import ceil

import click
import msgspec
from msgspec import Struct, field

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.client import Client
from postroad.core.model.history import shown_state

BOXES = ("sent", "received", "refused")
PAGE = 50
MAX_PAGES = 10
REMEMBERED = 20_000


class ListedMessage(Struct, frozen=True, kw_only=True):
    """One row of a message list."""

    session: str
    box: str
    at: str
    sender: str = field(name="from")
    recipients: tuple[str, ...] = ()
    type: str = ""
    topic: str = ""
    handle: str = ""
    size: int = 0
    state: str = ""
    code: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return (self.box, self.session, *self.recipients)


class ListedPage(Struct, frozen=True):
    items: tuple[ListedMessage, ...]
    next: str | None = None


class MessageFollower:
    """Polls message lists; ``last`` limits the first look back, ``missed`` is True if rows were skipped."""

    def __init__(self, client: Client, boxes: Iterable[str], *, service: str, topic: str, last: int) -> None:
        self._client = client
        self._boxes = tuple(boxes)
        self._service = service
        self._topic = topic
        self._last: int | None = last
        self._states: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self.missed = False

    def list_changes(self) -> list[ListedMessage]:
        """Return rows that are new or have changed since the last look, oldest first."""
        self.missed = False
        found = sorted((seen for box in self._boxes for seen in self._changed(box)), key=lambda seen: seen.at)
        first, self._last = self._last, None
        if first is None:
            return found
        return found[-first:] if first else []

    def _changed(self, box: str) -> list[ListedMessage]:
        """Read until a page has nothing new; the first call reads one page."""
        changed: list[ListedMessage] = []
        cursor = ""
        is_first = self._last is not None
        for _ in range(max(1, ceil((self._last or 0) / PAGE)) if is_first else MAX_PAGES):
            page = self._page(box, cursor)
            fresh = [seen for seen in page.items if self._states.get(seen.key) != seen.state]
            changed += fresh
            for seen in fresh:
                self._remember(seen)
            cursor = page.next or ""
            if not cursor or len(fresh) < len(page.items):
                break
        else:
            self.missed = self.missed or not is_first
        return changed

    def _page(self, box: str, cursor: str) -> ListedPage:
        found = self._client.get(
            "/v1/messages", box=box, service=self._service, topic=self._topic, cursor=cursor, limit=PAGE
        )
        return msgspec.convert(found, ListedPage)

    def _remember(self, seen: ListedMessage) -> None:
        self._states[seen.key] = seen.state
        self._states.move_to_end(seen.key)
        if len(self._states) > REMEMBERED:
            self._states.popitem(last=False)


FOLLOWING_TRIES = 12  # a server that is started again in between is followed on
STATES = {"accepted": "cyan", "queued": "yellow", "delivered": "green"}


@command
@click.option("--service", default="", help="Only of this service; default: all of your organization.")
@click.option("--box", "boxes", multiple=True, type=click.Choice(BOXES), help="Only sent, received or refused ones.")
@click.option("--topic", default="", help="Only with this topic.")
@click.option(
    "--last", default=10, type=click.IntRange(0, 200), help="Number of messages to start with.", show_default=True
)
@click.option(
    "--every", "pause_s", default=1.0, type=click.FloatRange(0.1), help="Seconds between polls.", show_default=True
)
@click.option("--once", is_flag=True, help="Show the current messages and stop.")
@with_connection
def tail(
    out: Output, service: str, boxes: tuple[str, ...], topic: str, last: int, pause_s: float, once: bool,
    connection: NetworkConnection,
) -> None:  # fmt: skip
    """Follow messages as they are posted.

    A line for each message that your services sent, received or were refused, and another when its state changes. Stop with
    Ctrl-C.
    """
    with connection.client(tries=FOLLOWING_TRIES) as client, contextlib.suppress(KeyboardInterrupt):
        following = MessageFollower(client, boxes or BOXES, service=service, topic=topic, last=last)
        while True:
            for seen in following.list_changes():
                _print_row(out, seen)
            if following.missed:
                click.echo("… too many messages at once; not all are shown", err=True)
            if once:
                return
            time.sleep(pause_s)


def _print_row(out: Output, seen: ListedMessage) -> None:
    out.value(seen)
    colour = STATES.get(seen.state, "red")
    what = " ".join(word for word in (seen.type, seen.topic, seen.handle) if word)
    to = ", ".join(seen.recipients) or "?"
    out.print(
        f"{seen.at[11:23]} {seen.session} {click.style(f'{shown_state(seen.state):<9}', fg=colour)} "
        f"{seen.sender or '?'} → {to}  {what} {seen.size} B{' ' + seen.code if seen.code else ''}"
    )
