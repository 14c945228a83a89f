"""The dead letters API of the client: list, resend and drop, singly or by filter at a limited rate.

    with Client(…) as network:
        for group in network.dead_letters.groups():
            print(group.service, group.cause, group.count)
        network.dead_letters.resend_many(service="Acme/Supply", cause="server-error", rate=50, reason="their server is back")

Rule: the conversations exist once, and the two shells only run them. Bulk actions run page by page; when an answer is
lost the page is requested again, which is safe: a letter is resent or dropped only once.
"""

from __future__ import annotations

from typing import Any, TypedDict

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.responses import parser
from postroad.client.routing import list_items
from postroad.client.steps import RetryPause, Talk
from postroad.core.model.dead_letter_actions import DROP, RESEND, LetterAction
from postroad.core.resources.dead_letters import (
    LetterCount,
    LetterDetails,
    LetterGroup,
    LetterGroupList,
    LetterPage,
    LetterResult,
    LetterResultPage,
    LetterView,
    ResentLetter,
)

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


class DeadLetterConversations:
    """The request sequences of the dead letters API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def list_dead_letters(self, filters: DeadLetterFilters) -> Talk[list[LetterView]]:
        return list_items(self._talks, PATH, LetterPage, 0, **filters)

    def groups(self, filters: DeadLetterFilters) -> Talk[list[LetterGroup]]:
        found = yield from self._talks.ask(requests.read(f"{PATH}/groups", **filters), parser(LetterGroupList))
        return found.items

    def letter(self, delivery: int) -> Talk[LetterDetails]:
        return self._talks.ask(requests.read(f"{PATH}/{delivery}"), parser(LetterDetails))

    def resend(self, delivery: int, wish: Value) -> Talk[int]:
        asked = requests.change("POST", f"{PATH}/{delivery}/{RESEND.name}", wish)
        found = yield from self._talks.ask(asked, parser(ResentLetter))
        return found.delivery

    def drop(self, delivery: int, reason: str) -> Talk[None]:
        yield from self._talks.value(requests.change("POST", f"{PATH}/{delivery}/{DROP.name}", {"reason": reason}))

    def count(self, filters: DeadLetterFilters) -> Talk[LetterCount]:
        wish = select_letters(filters) | {"dryRun": True}
        return self._talks.ask(requests.change("POST", f"{PATH}/{RESEND.name}", wish), parser(LetterCount))

    def act_on_many(
        self, action: LetterAction, wish: Value, rate: float, progress: Progress
    ) -> Talk[list[LetterResult]]:
        """Process page after page, pausing after each to keep to the rate."""
        page_most = min(PAGE, max(1, int(rate))) if rate else PAGE
        results: list[LetterResult] = []
        cursor = ""
        while True:
            asked = requests.change("POST", f"{PATH}/{action.name}", wish | {"limit": page_most, "cursor": cursor})
            page = yield from self._talks.ask(asked, parser(LetterResultPage))
            results += page.items
            progress(len(results))
            cursor = page.next or ""
            if not cursor:
                return results
            if rate and page.items:
                yield RetryPause(seconds=len(page.items) / rate)


def select_letters(filters: DeadLetterFilters) -> Value:
    """Return the filters as sent; without any, all letters match."""
    given = {name: value for name, value in filters.items() if value}
    return given or {"all": True}


def build_resend_wish(reason: str, expires_in_s: int) -> Value:
    """Return the fields of a request to resend."""
    return {"reason": reason, "expiresInS": expires_in_s}
