"""Route a post, on the event loop or in a thread if that is slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.metrics.registry import Metrics
from postroad.core.model.message import Message
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import TooMuchAtOnce
from postroad.core.routing.explain.explanation import ServiceTried, pack_tried
from postroad.core.routing.itinerary import NoRoute, Routed, itineraries
from postroad.core.routing.search_keys import Keys, PostedSubject, collect_search_keys
from postroad.errors import Refused
from postroad.flow.stages.posting import Posting

RECIPIENT_STEPS = 100  # cost of each further recipient, in budget steps


class RoutedPost(NamedTuple):
    """A post's copies with their routes, the explanation and the search keys."""

    copies: tuple[Copy, ...]
    explanation: bytes
    keys: Keys
    rules: int = 0  # that were tried


class RoutingMetrics:
    """Counts the rules that were tried, and measures routing in threads; used on the event loop only."""

    def __init__(self, metrics: Metrics) -> None:
        self.seconds = metrics.histogram("route_seconds")
        self._rules = metrics.counter("rules_tried_total")

    def count(self, routed: RoutedPost) -> RoutedPost:
        self._rules.value += routed.rules
        return routed

    def count_tried(self, tried: Sequence[ServiceTried]) -> None:
        self._rules.value += count_rules(tried)

    def count_refusal(self, refusal: Refused) -> None:
        """Count the rules of a post that could not be routed."""
        if isinstance(refusal, NoRoute):
            self.count_tried(refusal.routed.tried)


def count_rules(tried: Sequence[ServiceTried]) -> int:
    return sum([len(one.rules) for one in tried])


def check_recipients(message: Message, at_once: int | None) -> None:
    """Raise TooMuchAtOnce if the message has more recipients than these steps allow."""
    if at_once is not None and RECIPIENT_STEPS * (len(message.to) - 1) > at_once:
        raise TooMuchAtOnce


def route_post(admitted: Admitted, posting: Posting, directory: Directory, at_once: int | None = None) -> RoutedPost:
    """Return the routed post; raises TooMuchAtOnce if that takes more than ``at_once`` steps."""
    check_recipients(posting.message, at_once)
    subject = PostedSubject(admitted, directory, posting.form, at_once)
    return add_search_keys(admitted, directory, itineraries(admitted, directory, posting.form, subject), subject)


def add_search_keys(admitted: Admitted, directory: Directory, routed: Routed, subject: PostedSubject) -> RoutedPost:
    copies, tried = routed
    explanation = pack_tried(tried) if tried else b""
    keys = collect_search_keys(admitted.sender, copies, directory, subject)
    return RoutedPost(copies, explanation, keys, count_rules(tried) if tried else 0)


def try_route_post(admitted: Admitted, posting: Posting, directory: Directory) -> RoutedPost | Refused:
    """Return the routed post or its refusal, without references to objects of the routing thread."""
    try:
        return route_post(admitted, posting, directory)
    except Refused as refusal:
        refusal.__context__ = None
        return refusal.with_traceback(None)
