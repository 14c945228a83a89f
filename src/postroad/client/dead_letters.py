"""The dead letters API of the client: list, resend and drop, singly or by filter at a limited rate.

    with Client(…) as network:
        for group in network.dead_letters.groups():
            print(group["service"], group["cause"], group["count"])
        network.dead_letters.resend_many(service="Acme/Supply", cause="server-error", rate=50, reason="their server is back")

Rule: the conversations exist once, and the two shells only run them. Bulk actions run page by page; when an answer is
lost the page is requested again, which is safe: a letter is resent or dropped only once.
"""

from __future__ import annotations

from typing import Any, TypedDict

from msgspec import Struct, convert

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.routing import list_all
from postroad.client.steps import RetryPause, Talk

PATH = "/v1/dead-letters"
PAGE = 100
Value = dict[str, Any]


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
        wish = select_letters(filters) | {"dryRun": True}
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


def select_letters(filters: DeadLetterFilters) -> Value:
    """Return the filters as sent; without any, all letters match."""
    given = {name: value for name, value in filters.items() if value}
    return given or {"all": True}


def build_resend_wish(reason: str, expires_in_s: int) -> Value:
    """Return the fields of a request to resend."""
    return {"reason": reason, "expiresInS": expires_in_s}
