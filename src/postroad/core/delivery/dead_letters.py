"""Dead letters: deliveries that failed permanently, their causes, and groups of them.

Rule: the code of the reason in the journal decides the cause, never its text; ``legacy_reasons`` finds the code of entries from
before codes existed, so letters of any age are in the same groups. An unknown code has the cause ``other`` and is
shown with its reason, never left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.legacy_reasons import find_old_code
from postroad.core.model.delivery import Queued
from postroad.core.model.reason import Cause as Cause
from postroad.core.resources.dead_letters import LetterGroup

MEANING: dict[Cause, str] = {
    Cause.REFUSED: "the receiver rejects it (4xx); check the endpoint, the authentication, and the receiver's response",
    Cause.SERVER_ERROR: "the receiver fails (5xx); resend when it has recovered",
    Cause.REDIRECTED: "the receiver redirects; set the push URL that it redirects to",
    Cause.NO_ANSWER: "the receiver does not respond in time; it may still have received the message",
    Cause.BAD_ANSWER: "the receiver's response is invalid; it may still have received the message",
    Cause.UNREACHABLE: "the receiver cannot be reached; check host name and port",
    Cause.TLS: "the receiver's certificate or the network's is not accepted",
    Cause.ADDRESS_NOT_ALLOWED: "the host does not exist, or pushes to its address are not allowed",
    Cause.PUSH_SETTINGS: "the service's push settings are incomplete",
    Cause.NOT_ACKNOWLEDGED: "the service polls it and never acknowledges it",
    Cause.IN_TRANSIT: "an in-transit service returned an error",
    Cause.MISROUTED: "the rules left no valid route forward, or back",
    Cause.NOT_WHOLE: "the service insists on lossless delivery, and its format cannot carry all of this message",
    Cause.INTERCHANGE: "the interchange is not accepted, or the message does not fit into one; the reason lists every error",
    Cause.KEPT_BACK: "it failed at an isolated (hidden) service; contact the recipient",
    Cause.OTHER: "see the reason of each dead letter",
}

CAUSES: dict[str, Cause] = {
    "push.refused": Cause.REFUSED,
    "push.server-error": Cause.SERVER_ERROR,
    "push.redirected": Cause.REDIRECTED,
    "push.gone": Cause.REDIRECTED,
    "push.response-refused": Cause.BAD_ANSWER,
    "push.not-http": Cause.BAD_ANSWER,
    "push.protocol-switch": Cause.BAD_ANSWER,
    "push.head-too-long": Cause.BAD_ANSWER,
    "push.answer-too-long": Cause.BAD_ANSWER,
    "push.answer-compressed": Cause.BAD_ANSWER,
    "as2.receipt-missing": Cause.BAD_ANSWER,
    "push.no-answer": Cause.NO_ANSWER,
    "push.timeout": Cause.NO_ANSWER,
    "push.connect-timeout": Cause.NO_ANSWER,
    "push.closed": Cause.NO_ANSWER,
    "push.cut-short": Cause.NO_ANSWER,
    "push.broken-off": Cause.NO_ANSWER,
    "push.nothing-listens": Cause.UNREACHABLE,
    "push.unreachable": Cause.UNREACHABLE,
    "push.name-servers": Cause.UNREACHABLE,
    "push.certificate": Cause.TLS,
    "push.tls": Cause.TLS,
    "push.client-certificate": Cause.TLS,
    "push.address-not-allowed": Cause.ADDRESS_NOT_ALLOWED,
    "push.url": Cause.ADDRESS_NOT_ALLOWED,
    "push.settings": Cause.PUSH_SETTINGS,
    "push.header": Cause.PUSH_SETTINGS,
    "delivery.not-acknowledged": Cause.NOT_ACKNOWLEDGED,
    "service.error": Cause.IN_TRANSIT,
    "mediation.lossy": Cause.NOT_WHOLE,
    "wire.too-complex": Cause.INTERCHANGE,
}
# Causes of all other codes with these prefixes.
FAMILIES: dict[str, Cause] = {
    "interchange": Cause.INTERCHANGE,
    "route": Cause.MISROUTED,
    "policy": Cause.MISROUTED,
    "recipient": Cause.MISROUTED,
    "rule": Cause.MISROUTED,
}


def cause_of(code: str, reason: str) -> Cause:
    """Return the cause of a code; ``reason`` is the text, which is read only if an entry has no code."""
    code = code or find_old_code(reason)
    return CAUSES.get(code) or FAMILIES.get(code.partition(".")[0], Cause.OTHER)


class DeadLetter(NamedTuple):
    """A failed delivery, as stored in the index."""

    queued: Queued
    sender: str  # GCID of the message's sender, or of the in-transit service before
    content_seq: int
    failed_at_us: int
    reason: str
    reason_code: str  # empty in entries older than codes
    dealt_seq: int  # the entry that resent or dropped it; 0: none


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


def group_letters(letters: Iterable[GroupableLetter]) -> list[LetterGroup]:
    """Return the letters by service and cause, the largest group first; the example of a group is its newest letter."""
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
        meaning=MEANING[cause],
        count=len(letters),
        oldest=write_time(min(letter.failed_at_us for letter in letters)),
        newest=write_time(newest.failed_at_us),
        example=newest.id,
        reason=newest.reason,
    )


def round_expiry_us(letter: DeadLetter, now_us: int) -> int:
    """Return when a new round expires; it lasts as long as the message originally did. 0: never."""
    message = letter.queued.message
    return now_us + message.expires_at_us - message.at_us if message.expires_at_us else 0
