"""Route a post, on the event loop or in a thread if that is slow."""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.model.message import Message
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import TooMuchAtOnce
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.itinerary import Routed, itineraries
from postroad.core.routing.search_keys import Keys, PostedSubject, collect_search_keys
from postroad.errors import Refused
from postroad.flow.stages.posting import Posting

RECIPIENT_STEPS = 100  # cost of each further recipient, in budget steps


class RoutedPost(NamedTuple):
    """A post's copies with their routes, the explanation and the search keys."""

    copies: tuple[Copy, ...]
    explanation: bytes
    keys: Keys


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
    return RoutedPost(copies, explanation, collect_search_keys(admitted.sender, copies, directory, subject))


def try_route_post(admitted: Admitted, posting: Posting, directory: Directory) -> RoutedPost | Refused:
    """Return the routed post or its refusal, without references to objects of the routing thread."""
    try:
        return route_post(admitted, posting, directory)
    except Refused as refusal:
        refusal.__context__ = None
        return refusal.with_traceback(None)
