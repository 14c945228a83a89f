"""Dead letters, seen from the client: look at them, and resend or drop them, one by one or by filter at a pace of one's own.

    with Client(…) as network:
        for group in network.dead_letters.groups():
            print(group["service"], group["cause"], group["count"])
        network.dead_letters.resend_many(service="Acme/Supply", cause="server-error", rate=50, reason="their server is back")

Kept rule: the conversations are written once, and the two shells only run them. Dealing with many is asked for page by page; when
an answer is lost the page is asked for again, which is harmless: a letter is dealt with once, whoever asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from msgspec import Struct, convert

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.exchange import Pause, Talk
from postroad.client.routing import every

PATH = "/v1/dead-letters"
PAGE = 100
Value = dict[str, Any]
_Value = TypeVar("_Value")


class Filters(TypedDict, total=False):
    """Which letters are meant; ``since`` and ``until`` are RFC 3339 times of the failure."""

    service: str
    sender: str
    cause: str
    topic: str
    session: str
    since: str
    until: str


class Dealt(Struct, frozen=True, kw_only=True):
    """What became of one letter: the new delivery, or why it was refused."""

    letter: int
    delivery: int = 0
    code: str = ""
    detail: str = ""


class Run(Protocol):
    def __call__(self, talk: Talk[_Value]) -> _Value: ...


class AsyncRun(Protocol):
    def __call__(self, talk: Talk[_Value]) -> Awaitable[_Value]: ...


def no_progress(done: int) -> None:
    """For those who do not want to know."""


class DeadLetterTalks:
    """What is said, in which order."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def listed(self, filters: Filters) -> Talk[list[Value]]:
        return every(self._talks, PATH, **filters)

    def groups(self, filters: Filters) -> Talk[list[Value]]:
        answer = yield from self._talks.value(requests.read(f"{PATH}/groups", **filters))
        found: list[Value] = answer["items"]
        return found

    def letter(self, delivery: int) -> Talk[Value]:
        found: Value = yield from self._talks.value(requests.read(f"{PATH}/{delivery}"))
        return found

    def resend(self, delivery: int, wish: Value) -> Talk[int]:
        answer = yield from self._talks.value(requests.change("POST", f"{PATH}/{delivery}/resend", wish))
        number: int = answer["delivery"]
        return number

    def drop(self, delivery: int, reason: str) -> Talk[None]:
        yield from self._talks.value(requests.change("POST", f"{PATH}/{delivery}/drop", {"reason": reason}))

    def count(self, filters: Filters) -> Talk[Value]:
        wish = _meant(filters) | {"dryRun": True}
        found: Value = yield from self._talks.value(requests.change("POST", f"{PATH}/resend", wish))
        return found

    def deal(self, action: str, wish: Value, rate: float, progress: Progress) -> Talk[list[Dealt]]:
        """Page after page, each no larger than a second's worth, and a pause after it for what it has used up."""
        page_most = min(PAGE, max(1, int(rate))) if rate else PAGE
        dealt: list[Dealt] = []
        cursor = ""
        while True:
            asked = wish | {"limit": page_most, "cursor": cursor}
            page = yield from self._talks.value(requests.change("POST", f"{PATH}/{action}", asked))
            dealt += [convert(item, Dealt) for item in page["items"]]
            progress(len(dealt))
            cursor = page.get("next", "")
            if not cursor:
                return dealt
            if rate and page["items"]:
                yield Pause(seconds=len(page["items"]) / rate)


def _meant(filters: Filters) -> Value:
    """The filters as they are sent; without any, all letters are meant."""
    given = {name: value for name, value in filters.items() if value}
    return given or {"all": True}


def _resend_wish(reason: str, expires_in_s: int) -> Value:
    return {"reason": reason, "expiresInS": expires_in_s}


class DeadLetters:
    """The dead letters of the caller's organization; ``client.dead_letters``."""

    def __init__(self, talks: Conversations, run: Run) -> None:
        self._say = DeadLetterTalks(talks)
        self._run = run

    def listed(self, **filters: Unpack[Filters]) -> list[Value]:
        """Those that nobody has dealt with, oldest first."""
        return self._run(self._say.listed(filters))

    def groups(self, **filters: Unpack[Filters]) -> list[Value]:
        """How many there are at each service, by cause."""
        return self._run(self._say.groups(filters))

    def letter(self, delivery: int) -> Value:
        """One letter, with what happened to it and which parts it has."""
        return self._run(self._say.letter(delivery))

    def count(self, **filters: Unpack[Filters]) -> Value:
        """A dry run: how many letters are meant, and some of them."""
        return self._run(self._say.count(filters))

    def resend(self, delivery: int, *, reason: str = "", expires_in_s: int = 0) -> int:
        """Have one delivered once more, where it failed; returns the number of the new delivery."""
        return self._run(self._say.resend(delivery, _resend_wish(reason, expires_in_s)))

    def drop(self, delivery: int, reason: str) -> None:
        """Put one aside; it stays failed."""
        self._run(self._say.drop(delivery, reason))

    def resend_many(
        self,
        *,
        reason: str = "",
        expires_in_s: int = 0,
        rate: float = 0.0,
        progress: Progress = no_progress,
        **filters: Unpack[Filters],
    ) -> list[Dealt]:
        """Resend all that fit (without filters: all), oldest first, at most ``rate`` a second; 0 means as fast as it goes."""
        wish = _meant(filters) | _resend_wish(reason, expires_in_s)
        return self._run(self._say.deal("resend", wish, rate, progress))

    def drop_many(
        self, reason: str, *, rate: float = 0.0, progress: Progress = no_progress, **filters: Unpack[Filters]
    ) -> list[Dealt]:
        return self._run(self._say.deal("drop", _meant(filters) | {"reason": reason}, rate, progress))


class AsyncDeadLetters:
    """The same with asyncio."""

    def __init__(self, talks: Conversations, run: AsyncRun) -> None:
        self._say = DeadLetterTalks(talks)
        self._run = run

    async def listed(self, **filters: Unpack[Filters]) -> list[Value]:
        return await self._run(self._say.listed(filters))

    async def groups(self, **filters: Unpack[Filters]) -> list[Value]:
        return await self._run(self._say.groups(filters))

    async def letter(self, delivery: int) -> Value:
        return await self._run(self._say.letter(delivery))

    async def count(self, **filters: Unpack[Filters]) -> Value:
        return await self._run(self._say.count(filters))

    async def resend(self, delivery: int, *, reason: str = "", expires_in_s: int = 0) -> int:
        return await self._run(self._say.resend(delivery, _resend_wish(reason, expires_in_s)))

    async def drop(self, delivery: int, reason: str) -> None:
        await self._run(self._say.drop(delivery, reason))

    async def resend_many(
        self,
        *,
        reason: str = "",
        expires_in_s: int = 0,
        rate: float = 0.0,
        progress: Callable[[int], None] = no_progress,
        **filters: Unpack[Filters],
    ) -> list[Dealt]:
        wish = _meant(filters) | _resend_wish(reason, expires_in_s)
        return await self._run(self._say.deal("resend", wish, rate, progress))

    async def drop_many(
        self, reason: str, *, rate: float = 0.0, progress: Progress = no_progress, **filters: Unpack[Filters]
    ) -> list[Dealt]:
        return await self._run(self._say.deal("drop", _meant(filters) | {"reason": reason}, rate, progress))
