"""The dead letters API of the client: list, resend and drop, singly or by filter at a limited rate.

    with Client(…) as network:
        for group in network.dead_letters.groups():
            print(group["service"], group["cause"], group["count"])
        network.dead_letters.resend_many(service="Acme/Supply", cause="server-error", rate=50, reason="their server is back")

Rule: the conversations exist once, and the two shells only run them. Bulk actions run page by page; when an answer is
lost the page is requested again, which is safe: a letter is resent or dropped only once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from msgspec import Struct, convert

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.routing import list_all
from postroad.client.steps import RetryPause, Talk

PATH = "/v1/dead-letters"
PAGE = 100
Value = dict[str, Any]
_Value = TypeVar("_Value")


class DeadLetterFilters(TypedDict, total=False):
    """A filter for dead letters; ``since`` and ``until`` are RFC 3339 times of the failure."""

    service: str
    sender: str
    cause: str
    topic: str
    session: str
    since: str
    until: str


class LetterResult(Struct, frozen=True, kw_only=True):
    """The result for one letter: the new delivery, or the refusal."""

    letter: int
    delivery: int = 0
    code: str = ""
    detail: str = ""


class RunConversation(Protocol):
    def __call__(self, talk: Talk[_Value]) -> _Value: ...


class RunConversationAsync(Protocol):
    def __call__(self, talk: Talk[_Value]) -> Awaitable[_Value]: ...


def ignore_progress(done: int) -> None:
    """Ignore progress reports."""


class DeadLetterConversations:
    """The request sequences of the dead letters API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def listed(self, filters: DeadLetterFilters) -> Talk[list[Value]]:
        return list_all(self._talks, PATH, **filters)

    def groups(self, filters: DeadLetterFilters) -> Talk[list[Value]]:
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

    def count(self, filters: DeadLetterFilters) -> Talk[Value]:
        wish = _meant(filters) | {"dryRun": True}
        found: Value = yield from self._talks.value(requests.change("POST", f"{PATH}/resend", wish))
        return found

    def deal(self, action: str, wish: Value, rate: float, progress: Progress) -> Talk[list[LetterResult]]:
        """Process page after page, pausing after each to keep to the rate."""
        page_most = min(PAGE, max(1, int(rate))) if rate else PAGE
        dealt: list[LetterResult] = []
        cursor = ""
        while True:
            asked = wish | {"limit": page_most, "cursor": cursor}
            page = yield from self._talks.value(requests.change("POST", f"{PATH}/{action}", asked))
            dealt += [convert(item, LetterResult) for item in page["items"]]
            progress(len(dealt))
            cursor = page.get("next", "")
            if not cursor:
                return dealt
            if rate and page["items"]:
                yield RetryPause(seconds=len(page["items"]) / rate)


def _meant(filters: DeadLetterFilters) -> Value:
    """Return the filters as sent; without any, all letters match."""
    given = {name: value for name, value in filters.items() if value}
    return given or {"all": True}


def _resend_wish(reason: str, expires_in_s: int) -> Value:
    return {"reason": reason, "expiresInS": expires_in_s}


class DeadLetters:
    """The dead letters of the caller's organization; ``client.dead_letters``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = DeadLetterConversations(talks)
        self._run = run

    def listed(self, **filters: Unpack[DeadLetterFilters]) -> list[Value]:
        """Return the letters that have not been handled, oldest first."""
        return self._run(self._say.listed(filters))

    def groups(self, **filters: Unpack[DeadLetterFilters]) -> list[Value]:
        """Return the number of letters at each service, by cause."""
        return self._run(self._say.groups(filters))

    def letter(self, delivery: int) -> Value:
        """Return one letter with its events and parts."""
        return self._run(self._say.letter(delivery))

    def count(self, **filters: Unpack[DeadLetterFilters]) -> Value:
        """Return how many letters match, with a sample; a dry run of a resend or drop."""
        return self._run(self._say.count(filters))

    def resend(self, delivery: int, *, reason: str = "", expires_in_s: int = 0) -> int:
        """Resend one letter to where it failed; returns the new delivery number."""
        return self._run(self._say.resend(delivery, _resend_wish(reason, expires_in_s)))

    def drop(self, delivery: int, reason: str) -> None:
        """Drop one letter; the message stays failed."""
        self._run(self._say.drop(delivery, reason))

    def resend_many(
        self,
        *,
        reason: str = "",
        expires_in_s: int = 0,
        rate: float = 0.0,
        progress: Progress = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> list[LetterResult]:
        """Resend all matching letters, oldest first, at most ``rate`` per second (0: unlimited)."""
        wish = _meant(filters) | _resend_wish(reason, expires_in_s)
        return self._run(self._say.deal("resend", wish, rate, progress))

    def drop_many(
        self,
        reason: str,
        *,
        rate: float = 0.0,
        progress: Progress = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> list[LetterResult]:
        return self._run(self._say.deal("drop", _meant(filters) | {"reason": reason}, rate, progress))


class AsyncDeadLetters:
    """The dead letters API with asyncio; see ``DeadLetters``."""

    def __init__(self, talks: Conversations, run: RunConversationAsync) -> None:
        self._say = DeadLetterConversations(talks)
        self._run = run

    async def listed(self, **filters: Unpack[DeadLetterFilters]) -> list[Value]:
        return await self._run(self._say.listed(filters))

    async def groups(self, **filters: Unpack[DeadLetterFilters]) -> list[Value]:
        return await self._run(self._say.groups(filters))

    async def letter(self, delivery: int) -> Value:
        return await self._run(self._say.letter(delivery))

    async def count(self, **filters: Unpack[DeadLetterFilters]) -> Value:
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
        progress: Callable[[int], None] = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> list[LetterResult]:
        wish = _meant(filters) | _resend_wish(reason, expires_in_s)
        return await self._run(self._say.deal("resend", wish, rate, progress))

    async def drop_many(
        self,
        reason: str,
        *,
        rate: float = 0.0,
        progress: Progress = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> list[LetterResult]:
        return await self._run(self._say.deal("drop", _meant(filters) | {"reason": reason}, rate, progress))
