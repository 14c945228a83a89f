"""The types of a history: transaction, messages, copies, stops and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from postroad.core.model.push_pause import PushPause

UNDER_WAY = "under way"  # state of a followed copy whose journey has not ended
QUEUED = "queued"  # state of a delivery that has not ended
WAITING, IN_TRANSIT = "waiting", "in transit"  # how people are shown what has not ended


def shown_state(state: str) -> str:
    """Returns the word that people are shown for the state of a delivery: ``queued`` is shown as *waiting*."""
    return WAITING if state == QUEUED else state


@dataclass(slots=True, kw_only=True)
class HistoryEvent:
    """One event at a stop: time, kind, actor and details."""

    seq: int
    at_us: int
    what: str
    by: str
    detail: str = ""
    until_us: int = field(default=0, compare=False)  # until then no one else is given it: its lease, or the next try
    why: str = field(default="", compare=False)  # of a failed attempt: why, without when the next one is


@dataclass(slots=True, kw_only=True)
class BatchMembership:
    """The batch that a message has joined, and what became of the message there."""

    batch: str  # id
    state: str  # of the batch; ``left`` when the message is not in it any more
    interchange: str = ""  # session of the stream that was made of the batch
    reference: str = ""  # control number by which the partner knows that
    document: str = ""  # what the message's document is called in it
    verdict: str = ""  # what the partner says of it
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHold:
    """A delivery that waits for release by its service's ``release`` settings."""

    until_us: int = 0  # 0: until enough wait, or someone asks


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """The control numbers of one scope that an interchange uses."""

    scope: str  # interchange, group, member
    first: int
    last: int


@dataclass(slots=True, kw_only=True)
class PartnerAnswer:
    """A partner's acknowledgement of an interchange that it was sent."""

    at_us: int
    session: str  # of the message by which it says so
    verdict: str
    detail: str = ""
    otherwise: int = 0  # members of which something else is said than of the whole


@dataclass(slots=True, kw_only=True)
class InterchangeContents:
    """The contents of an interchange: its batch, control numbers and acknowledgements."""

    batch: str  # id; empty for an answer to a partner's interchange
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
    invoker: str = ""  # who brought the service into the route
    rule: str = ""  # by which of its rules; empty: named by the sender
    isolated_by: str = ""  # GCID of the service that keeps what it includes to itself
    events: list[HistoryEvent] = field(default_factory=list)
    gathered: BatchMembership | None = None  # where the service gathers messages
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
    """Where a copy is, as its viewer may see it; the base of every type of copy that has stops."""

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
        """Returns the one word that lists, searches and the message's own page show for the copy.

        It is refused, waiting, in transit, delivered, rejected, failed, expired or cancelled.
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
    """One recipient's copy: its stops in order, or why it was refused; ``state`` is what became of it in the end."""

    recipient: str
    code: str
    detail: str
    route: list[str]
    state: str = ""
    stops: list[Stop] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ArrivalNotes:
    """How a message in an external format arrived; visible to its sender only."""

    notes: list[str]  # what was said of it otherwise than it is, and what its reader let pass
    message_id: str = ""  # by AS2: what its sender calls it
    mic: str = ""  # by AS2: the digest that the receipt confirms
    layers: list[str] = field(default_factory=list)  # by AS2: signed, encrypted, compressed, from the outside in


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
    answers: str  # session of the request that this one answers
    copies: list[CopyHistory] = field(default_factory=list)
    came: ArrivalNotes | None = None
    forwards: str = ""  # session of the message that an exchange or a model forwards with this one
    contained: InterchangeContents | None = None  # of an interchange: what it was made of
    wire_size: int = 0  # bytes on the wire, as it arrived: for the sender's organization; 0 for the others
    code: str = ""  # why the whole post was rejected; empty: it was accepted
    detail: str = ""  # the same in words
    expires_at_us: int = field(default=0, compare=False)  # 0: never
    found_by: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # search keys, for sender and recipients


@dataclass(slots=True, kw_only=True)
class History:
    transaction: str
    messages: list[MessageHistory]
    asked: str = ""  # the session of the message that was asked for, as it stands among these
