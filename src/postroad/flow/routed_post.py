"""A post with its routes, which are worked out on the event loop or, where that takes long, in a thread."""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.model.journal import Copy
from postroad.core.model.message import Message
from postroad.core.model.snapshot import Directory
from postroad.core.routing.business_keys import Keys, PostedSubject, business_keys
from postroad.core.routing.explanation import pack
from postroad.core.routing.itinerary import Routed, itineraries
from postroad.core.routing.shares import TooMuchAtOnce
from postroad.errors import Refused
from postroad.flow.posting import Posting

RECIPIENT_STEPS = 100  # that a further recipient costs, in the steps of a budget


class RoutedPost(NamedTuple):
    """A post with its routes, what explains them, and the keys it is found by."""

    copies: tuple[Copy, ...]
    explanation: bytes
    keys: Keys


def check_recipients(message: Message, at_once: int | None) -> None:
    """Raise TooMuchAtOnce for a message with more recipients than can be routed in so many steps."""
    if at_once is not None and RECIPIENT_STEPS * (len(message.to) - 1) > at_once:
        raise TooMuchAtOnce


def route_post(admitted: Admitted, posting: Posting, directory: Directory, at_once: int | None = None) -> RoutedPost:
    """The post with its routes; raises TooMuchAtOnce when that takes more steps than ``at_once``."""
    check_recipients(posting.message, at_once)
    subject = PostedSubject(admitted, directory, posting.form, at_once)
    return with_keys(admitted, directory, itineraries(admitted, directory, posting.form, subject), subject)


def with_keys(admitted: Admitted, directory: Directory, routed: Routed, subject: PostedSubject) -> RoutedPost:
    copies, tried = routed
    explanation = pack(tried) if tried else b""
    return RoutedPost(copies, explanation, business_keys(admitted.sender, copies, directory, subject))


def routed_or_refused(admitted: Admitted, posting: Posting, directory: Directory) -> RoutedPost | Refused:
    """The post with its routes or why it has none, for the thread that routes it: the refusal holds nothing of the thread."""
    try:
        return route_post(admitted, posting, directory)
    except Refused as refusal:
        refusal.__context__ = None
        return refusal.with_traceback(None)
