"""The types of a message history: transaction, messages, copies, stops and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from postroad.core.model.delivery import PushPause

UNDER_WAY = "under way"  # state of a followed copy whose journey has not ended
QUEUED = "queued"  # state of a delivery that has not ended
WAITING, IN_TRANSIT = "waiting", "in transit"  # the words shown for states that are not final


def shown_state(state: str) -> str:
    """Return the word shown to users for the state of a delivery: *waiting* for ``queued``."""
    return WAITING if state == QUEUED else state


@dataclass(slots=True, kw_only=True)
class HistoryEvent:
    """One event at a stop: time, kind, actor and details."""

    seq: int
    at_us: int
    what: str
    by: str
    detail: str = ""
    until_us: int = field(default=0, compare=False)  # when the lease ends, or when the next push is tried
    why: str = field(default="", compare=False)  # the reason of a failed attempt, without the time of the next one


@dataclass(slots=True, kw_only=True)
class BatchMembership:
    """The batch that a message joined, and the state of the message in it."""

    batch: str  # id
    state: str  # of the batch; ``left`` if the message is no longer in it
    interchange: str = ""  # session of the stream assembled from the batch
    reference: str = ""  # control number of the interchange
    document: str = ""  # control number of the message's document in it
    verdict: str = ""  # the partner's status for it
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHold:
    """A delivery that waits for release by its service's ``release`` settings."""

    until_us: int = 0  # 0: until enough deliveries wait, or on request


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """The control numbers of one scope that an interchange uses."""

    scope: str  # interchange, group, member
    first: int
    last: int


@dataclass(slots=True, kw_only=True)
class PartnerAnswer:
    """A partner's acknowledgment of an interchange that was sent to it."""

    at_us: int
    session: str  # of the acknowledgment's message
    verdict: str
    detail: str = ""
    otherwise: int = 0  # number of members with another status than the whole


@dataclass(slots=True, kw_only=True)
class InterchangeContents:
    """The contents of an interchange: its batch, control numbers and acknowledgments."""

    batch: str  # id; empty for an acknowledgment of a partner's interchange
    members: int
    standard: str
    numbers: list[NumberRange]
    answers: list[PartnerAnswer] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Stop:
    """A copy at one service."""

    delivery: int
    service: str  # address
    gcid: str
    in_transit: bool
    state: str
    size: int
    invoker: str = ""  # the service that included this one in the route
    rule: str = ""  # the invoker's rule that included it; empty: named by the sender
    isolated_by: str = ""  # GCID of the service that hides the services it includes
    events: list[HistoryEvent] = field(default_factory=list)
    gathered: BatchMembership | None = None  # if the service gathers messages
    held: ReleaseHold | None = None  # while it waits for release
    paused: PushPause | None = None  # while it waits and pushes to the service are paused


class _Event(Protocol):
    @property
    def what(self) -> str: ...


class _Stop(Protocol):
    @property
    def in_transit(self) -> bool: ...
    @property
    def state(self) -> str: ...
    @property
    def events(self) -> Sequence[_Event]: ...


class _Copy(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def route(self) -> Sequence[str]: ...
    @property
    def state(self) -> str: ...
    @property
    def stops(self) -> Sequence[_Stop]: ...
    @property
    def is_out_of_sight(self) -> bool: ...


class CopyProgress:
    """The position of a copy as its viewer may see it; the base of every type of copy that has stops."""

    __slots__ = ()

    @property
    def is_out_of_sight(self: _Copy) -> bool:
        """True if the copy is, or ended, at a stop that is hidden from the viewer."""
        if not self.stops:
            return True
        last = self.stops[-1]
        has_left = last.in_transit and bool(last.events) and last.events[-1].what == "answered"
        return has_left and len(self.route) > len(self.stops)

    @property
    def shown_state(self: _Copy) -> str:
        """Return the word that lists, searches and the message's page show for the copy's state.

        One of: refused, waiting, in transit, delivered, rejected, failed, expired, cancelled.
        """
        if self.code:
            return "refused"
        if self.is_out_of_sight:
            return IN_TRANSIT if self.state == UNDER_WAY else self.state
        last = self.stops[-1]
        if last.state == QUEUED:
            return WAITING
        if self.state != UNDER_WAY:
            return self.state or last.state
        return IN_TRANSIT if last.in_transit else last.state


@dataclass(slots=True, kw_only=True)
class CopyHistory(CopyProgress):
    """One recipient's copy: its stops in order, or why it was refused; ``state`` is its final state."""

    recipient: str
    code: str
    detail: str
    route: list[str]
    state: str = ""
    stops: list[Stop] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ArrivalNotes:
    """How a message in an external format arrived; visible to its sender only."""

    notes: list[str]  # headers that contradict the content, and errors that its decoder tolerated
    message_id: str = ""  # AS2: the sender's Message-ID
    mic: str = ""  # AS2: the digest that the MDN confirms
    layers: list[str] = field(default_factory=list)  # AS2: signed, encrypted, compressed; outermost first


@dataclass(slots=True, kw_only=True)
class MessageHistory:
    seq: int
    session: str
    at_us: int
    type: str
    sender: str
    topic: str
    handle: str
    size: int  # bytes of the documents and attachments
    form: str
    directory: int
    answers: str  # session of the request that this message answers
    copies: list[CopyHistory] = field(default_factory=list)
    came: ArrivalNotes | None = None
    forwards: str = ""  # session of the message that an exchange or a model forwards as this one
    contained: InterchangeContents | None = None  # of an interchange: its contents
    wire_size: int = 0  # bytes on the wire, as it arrived; 0 for all but the sender's organization
    code: str = ""  # the refusal of the whole post; empty: accepted
    detail: str = ""  # the text of the refusal
    expires_at_us: int = field(default=0, compare=False)  # 0: never
    found_by: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # search keys; for sender and recipients


@dataclass(slots=True, kw_only=True)
class History:
    transaction: str
    messages: list[MessageHistory]
    asked: str = ""  # session of the requested message, one of ``messages``
