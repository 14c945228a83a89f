"""Dead letters: deliveries that failed for good, their causes, and groups of them.

Rule: a cause is read from the reason that the journal has, so letters of any age fall into the same groups; one that is not
known is called ``other`` and shown with its reason, never left out. A reason may begin with a code and a colon, which then
decides; older reasons are recognised by their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from postroad.core.model.delivery import Queued


class Cause(StrEnum):
    """Why deliveries fail, by what their owner can do about it."""

    REFUSED = "refused"  # the receiver's server said 4xx
    SERVER_ERROR = "server-error"  # it said 5xx, or asked for patience too often
    REDIRECTED = "redirected"
    NO_ANSWER = "no-answer"  # in time, or at all
    BAD_ANSWER = "bad-answer"  # it cannot be read, or what it carries cannot be accepted
    UNREACHABLE = "unreachable"
    TLS = "tls"
    ADDRESS_NOT_ALLOWED = "address-not-allowed"
    PUSH_SETTINGS = "push-settings"  # the profile lacks what it takes
    NOT_ACKNOWLEDGED = "not-acknowledged"  # polled again and again
    IN_TRANSIT = "failed-in-transit"  # a service on the way answered with an error
    MISROUTED = "misrouted"  # there was no valid way on, or back
    NOT_WHOLE = "not-whole"  # its format has no place for all of it, and the service wants nothing less
    INTERCHANGE = "interchange"  # it cannot be taken apart, came before, or does not fit into one
    KEPT_BACK = "kept-back"  # at a service that somebody keeps to itself
    OTHER = "other"


MEANING: dict[Cause, str] = {
    Cause.REFUSED: "the receiver refuses it (4xx); see its address, its authentication, and what it thinks of the message",
    Cause.SERVER_ERROR: "the receiver fails (5xx); resend when it is well again",
    Cause.REDIRECTED: "the receiver redirects; set the push address that it leads to",
    Cause.NO_ANSWER: "the receiver does not answer in time; it may have taken the message all the same",
    Cause.BAD_ANSWER: "the receiver's answer cannot be used; it may have taken the message all the same",
    Cause.UNREACHABLE: "the receiver cannot be reached; check its name and port",
    Cause.TLS: "the receiver's certificate, or ours, is not accepted",
    Cause.ADDRESS_NOT_ALLOWED: "the host does not exist, or pushes to its address are not allowed",
    Cause.PUSH_SETTINGS: "the service's push settings lack something",
    Cause.NOT_ACKNOWLEDGED: "the service takes it and never acknowledges it",
    Cause.IN_TRANSIT: "a service on the way answered with an error",
    Cause.MISROUTED: "rules gave it no valid way on, or back",
    Cause.NOT_WHOLE: "the service takes messages only whole, and its format has no place for all of this one",
    Cause.INTERCHANGE: "the interchange cannot be taken, or the message does not fit into one; its reason names every fault",
    Cause.KEPT_BACK: "it failed at a service that somebody keeps to itself; ask whom you sent it to",
    Cause.OTHER: "see the reason of each",
}

PUSH_SETTINGS = "push.settings"  # the code of a reason: the push could not be made with what profile and secrets say
_CODE = re.compile(r"route\.failed: ")
_CAUSES: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"[^/:]+/[^/:]+ answered ", Cause.IN_TRANSIT),  # first: what follows are the service's own words
        (re.escape(f"{PUSH_SETTINGS}: "), Cause.PUSH_SETTINGS),
        (  # reasons of versions before the code
            r"(file|env):.*(the operator has |is empty|lies outside the folder|cannot be read as text|this service may name)",
            Cause.PUSH_SETTINGS,
        ),
        (r"handed out (once|\d+ times)", Cause.NOT_ACKNOWLEDGED),
        (r"the receiver refused it with \d", Cause.REFUSED),
        (r"the receiver answered (3\d\d|410)\b", Cause.REDIRECTED),
        (r"the receiver answered \d", Cause.SERVER_ERROR),
        (r"mediation\.lossy: ", Cause.NOT_WHOLE),
        (r"(interchange\.[\w-]+|wire\.too-complex): ", Cause.INTERCHANGE),
        (r"The response had no valid way back", Cause.MISROUTED),
        (r"(route|policy|recipient|rule)\.[\w-]+: ", Cause.MISROUTED),
        (
            r"(the response in the answer was refused|what it answered|its answer |the head of its answer)",
            Cause.BAD_ANSWER,
        ),
        (r"it answered by switching", Cause.BAD_ANSWER),
        (r"(.*: )?(its certificate was not accepted|TLS failed|the network's client certificate)", Cause.TLS),
        (r"(.*: )?(nothing listens|it cannot be reached|there is no such host|its name servers)", Cause.UNREACHABLE),
        (r"(.*: )?it (did not|closed|broke)", Cause.NO_ANSWER),
        (r"there was no answer", Cause.NO_ANSWER),
        (
            r"(\S+ (leads to an address|may not be pushed to|cannot be pushed to)|The push URL)",
            Cause.ADDRESS_NOT_ALLOWED,
        ),
        (r"(The secret|The format|The service's profile|.*push\.|.*secretFrom|the header )", Cause.PUSH_SETTINGS),
    )
)


def cause_of(reason: str) -> Cause:
    """The cause behind a reason, as the journal has it."""
    text = _CODE.sub("", reason, count=1) if reason.startswith("route.failed: ") else reason
    return next((cause for pattern, cause in _CAUSES if pattern.match(text)), Cause.OTHER)


class DeadLetter(NamedTuple):
    """A delivery that failed, as the index has it."""

    queued: Queued
    sender: str  # GCID of the service that it came from: the message's sender, or the in-transit service before
    content_seq: int
    failed_at_us: int
    reason: str
    dealt_seq: int  # the entry by which somebody dealt with it; 0: nobody has


class GroupableLetter(Protocol):
    """The attributes a dead letter must have to be grouped."""

    @property
    def id(self) -> int: ...
    @property
    def service(self) -> str: ...
    @property
    def cause(self) -> Cause: ...
    @property
    def failed_at_us(self) -> int: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterGroup:
    """Dead letters at one service with one cause; the example is the newest."""

    service: str
    cause: Cause
    count: int
    oldest_us: int
    newest_us: int
    example: int
    reason: str


def group_letters(letters: Iterable[GroupableLetter]) -> list[LetterGroup]:
    """The letters by service and cause, the largest group first."""
    members: dict[tuple[str, Cause], list[GroupableLetter]] = {}
    for letter in letters:
        members.setdefault((letter.service, letter.cause), []).append(letter)
    groups = [_group(*key, found) for key, found in members.items()]
    return sorted(groups, key=lambda group: (-group.count, group.service, group.cause))


def _group(service: str, cause: Cause, letters: list[GroupableLetter]) -> LetterGroup:
    newest = max(letters, key=lambda letter: letter.failed_at_us)
    return LetterGroup(
        service=service,
        cause=cause,
        count=len(letters),
        oldest_us=min(letter.failed_at_us for letter in letters),
        newest_us=newest.failed_at_us,
        example=newest.id,
        reason=newest.reason,
    )


def round_expiry_us(letter: DeadLetter, now_us: int) -> int:
    """Return when a new round expires; it lasts as long as the message originally did. 0: never."""
    message = letter.queued.message
    return now_us + message.expires_at_us - message.at_us if message.expires_at_us else 0
