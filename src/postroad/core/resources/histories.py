"""The history of a transaction: its messages, the copies of each, the stops of each copy, and the events at each stop.

Times are text in JSON; the properties that end in ``_us`` return them in microseconds since 1970.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from postroad.core.codecs.lexical import read_time
from postroad.core.model.history import CopyProgress
from postroad.core.resources.base import Resource

Size = Annotated[int, Meta(description="Bytes of the documents and attachments")]
WireSize = Annotated[int, Meta(description="Bytes on the wire, as received; 0 for viewers other than the sender")]


class EventView(Resource, kw_only=True):
    seq: int
    at: str
    what: str
    by: str
    detail: str = ""

    @property
    def at_us(self) -> int:
        return read_time(self.at, "/at")


class GatheredView(Resource, kw_only=True):
    """The batch that a message joined, and what happened to it there."""

    batch: str
    state: Annotated[str, Meta(description="State of the batch; `left` if the message is no longer in it")]
    interchange: Annotated[str, Meta(description="Session ID of the batch's interchange")] = ""
    reference: Annotated[str, Meta(description="Control number of that interchange")] = ""
    document: Annotated[str, Meta(description="Reference of the message's document in it")] = ""
    verdict: Annotated[str, Meta(description="The partner's functional acknowledgment of it")] = ""
    reasons: list[str] = field(default_factory=list)


class DrawnView(Resource, kw_only=True):
    """The control numbers of one scope that an interchange uses."""

    scope: str
    first: int
    last: int


class PartnerAnswerView(Resource, kw_only=True):
    """A partner's acknowledgment of an interchange."""

    at: str
    session: Annotated[str, Meta(description="Session of the message with this acknowledgment")]
    verdict: str
    detail: str = ""
    otherwise: Annotated[int, Meta(description="Number of messages whose status differs from the whole")] = 0

    @property
    def at_us(self) -> int:
        return read_time(self.at, "/at")


class ContainedView(Resource, kw_only=True):
    """The contents of an interchange."""

    batch: Annotated[str, Meta(description="Empty for an acknowledgment of a partner's interchange")]
    members: int
    standard: str
    numbers: list[DrawnView] = field(default_factory=list)
    answers: list[PartnerAnswerView] = field(default_factory=list)


class HeldBackView(Resource, kw_only=True):
    until: Annotated[str | None, Meta(description="None: until enough messages wait, or on request")] = None

    @property
    def until_us(self) -> int:
        """When a waiting message is released; 0: when enough messages wait, or on request."""
        return read_time(self.until, "/held/until") if self.until else 0


class PausedView(Resource, kw_only=True):
    until: Annotated[str, Meta(description="When the next message is pushed to the service, as a probe")]
    failed: int
    of: Annotated[int, Meta(description="Number of the last pushes that are counted")]

    @property
    def until_us(self) -> int:
        return read_time(self.until, "/paused/until")

    @property
    def why(self) -> str:
        return f"{self.failed} of the last {self.of} pushes failed"


class StopView(Resource, kw_only=True):
    delivery: Annotated[int, Meta(description="Number of the delivery; its contents are read with it")] = 0
    service: str
    gcid: str
    in_transit: bool
    role: Annotated[str, Meta(description="Role of the service: `inTransit` or `recipient`")] = ""
    status: Annotated[
        str,
        Meta(
            description="By its role. In transit: `waiting`, `invoked`, `returned`. Recipient: `waiting`, `handed out`, "
            "`received`, `answered`. Either: `rejected`, `failed`, `expired`, `cancelled`"
        ),
    ] = ""
    state: str
    size: Size
    invoker: Annotated[str, Meta(description="The service that inserted this service into the route")] = ""
    rule: Annotated[str, Meta(description="The rule that inserted it; empty if named in the message")] = ""
    events: list[EventView] = field(default_factory=list)
    gathered: Annotated[GatheredView | None, Meta(description="Set if the service batches messages")] = None
    held: Annotated[HeldBackView | None, Meta(description="Set while it waits for release")] = None
    paused: Annotated[
        PausedView | None, Meta(description="Set while it waits because pushes to the service are paused")
    ] = None


class CopyView(Resource, CopyProgress, kw_only=True):
    recipient: str
    code: str = ""
    detail: str = ""
    state: Annotated[str, Meta(description="Final state of this copy; `under way` until then")] = ""
    route: list[str] = field(default_factory=list)
    stops: list[StopView] = field(default_factory=list)


class ArrivalView(Resource, kw_only=True):
    """How a message arrived that was not in one of the network's native formats."""

    notes: Annotated[
        list[str], Meta(description="Where its declaration differed from its content, and which errors were tolerated")
    ] = field(default_factory=list)
    message_id: Annotated[str, Meta(description="AS2: its Message-ID")] = ""
    mic: Annotated[str, Meta(description="AS2: the digest that the MDN confirms")] = ""
    layers: Annotated[list[str], Meta(description="AS2: signed, encrypted, compressed, outermost first")] = field(
        default_factory=list
    )


class MessageView(Resource, kw_only=True):
    seq: int
    session: str
    at: str
    type: str
    sender: str = field(name="from")
    topic: str = ""
    handle: str = ""
    size: Size = 0
    wire_size: WireSize = 0
    form: str = ""
    directory: int = 0
    answers: str = ""
    forwards: Annotated[
        str, Meta(description="Session ID of the message that an exchange or a model forwards with this one")
    ] = ""
    copies: list[CopyView] = field(default_factory=list)
    code: Annotated[str, Meta(description="Why the whole post was rejected; empty if it was accepted")] = ""
    detail: Annotated[str, Meta(description="The reason as text")] = ""
    came: Annotated[ArrivalView | None, Meta(description="Visible to its sender")] = None
    contained: Annotated[
        ContainedView | None, Meta(description="Contents of an interchange, for the organization that created it")
    ] = None

    @property
    def at_us(self) -> int:
        return read_time(self.at, "/at")


class Trace(Resource, kw_only=True):
    """The history of a transaction, as far as the caller may see it."""

    transaction: str
    messages: list[MessageView] = field(default_factory=list)
