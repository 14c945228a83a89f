"""Looking again and again at lists that begin with the newest, and telling only what is new or has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from math import ceil

import msgspec
from msgspec import Struct, field

from postroad.client import Client

BOXES = ("sent", "received", "refused")
PAGE = 50
PAGES_MOST = 10
REMEMBERED = 20_000


class Seen(Struct, frozen=True, kw_only=True):
    """One line of a list of messages."""

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


class Page(Struct, frozen=True):
    items: tuple[Seen, ...]
    next: str | None = None


class Following:
    """``last`` limits what the first look tells of the past; ``missed`` says whether the last look was too short for all news."""

    def __init__(self, client: Client, boxes: Iterable[str], *, service: str, topic: str, last: int) -> None:
        self._client = client
        self._boxes = tuple(boxes)
        self._service = service
        self._topic = topic
        self._last: int | None = last
        self._states: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self.missed = False

    def news(self) -> list[Seen]:
        """What was not there or not so at the last look, oldest first."""
        self.missed = False
        found = sorted((seen for box in self._boxes for seen in self._changed(box)), key=lambda seen: seen.at)
        first, self._last = self._last, None
        if first is None:
            return found
        return found[-first:] if first else []

    def _changed(self, box: str) -> list[Seen]:
        """Reads on until a page brings nothing new; the first look is content with what it has to tell."""
        changed: list[Seen] = []
        cursor = ""
        is_first = self._last is not None
        for _ in range(max(1, ceil((self._last or 0) / PAGE)) if is_first else PAGES_MOST):
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

    def _page(self, box: str, cursor: str) -> Page:
        found = self._client.get(
            "/v1/messages", box=box, service=self._service, topic=self._topic, cursor=cursor, limit=PAGE
        )
        return msgspec.convert(found, Page)

    def _remember(self, seen: Seen) -> None:
        self._states[seen.key] = seen.state
        self._states.move_to_end(seen.key)
        if len(self._states) > REMEMBERED:
            self._states.popitem(last=False)
