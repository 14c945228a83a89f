"""Send ports and their way back: which messages are gathered, when and as what they go, and how incoming interchanges are split.

Policies are data, saved completely with their service: a *batcher*, whose mailbox is a send port, or a *splitter*, to
which partners send. ``core.batching`` and ``core.interchange`` interpret them; here they are only described. Rule:
every criterion may be combined with every other, and 0 or empty disables a criterion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroad.core.model.batcher import ChosenBatcher
from postroad.core.model.rule import Condition, ValueLocation, ValueType
from postroad.core.model.window import DeliveryWindow


class Types(StrEnum):
    """How documents of several types, such as 850 and 860, come together."""

    TOGETHER = "together"  # in one batch
    APART = "apart"  # each type in a batch of its own
    IN_TURN = "inTurn"  # a message of another type closes the batch: the order in which they came is kept


class Empty(StrEnum):
    """What happens at a scheduled time without messages."""

    NOTHING = "nothing"
    SEND = "send"  # an interchange without members, for partners that take silence for a fault


class Unfinished(StrEnum):
    """What happens to a batch whose application does not end it in time."""

    SEND = "send"  # as it is
    SUSPEND = "suspend"  # someone looks into it


class Recovery(StrEnum):
    """What happens to a batch that was open when the network stopped without warning."""

    GO_ON = "goOn"
    PASS = "pass"  # noqa: S105 - no password: it is closed and sent as it is
    FAIL = "fail"  # it is suspended


class OnEnvelopeError(StrEnum):
    """What happens to an interchange with envelope errors; agreed on with each partner."""

    REFUSE = "refuse"  # nothing of it is taken
    REPAIR = "repair"  # what can be put right without guessing is; the rest is refused
    PASS = "pass"  # noqa: S105 - no password: it is accepted unchanged, and errors are reported


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """A value by which members are sorted; members without it come last."""

    place: ValueLocation
    type: ValueType = ValueType.STRING
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """Batches that the application marks: by its name for them, and by their first and last message."""

    id_property: str = "BatchID"
    start_property: str = "BatchStart"
    end_property: str = "BatchEnd"
    unfinished_after_s: int = 86_400  # since its first message
    unfinished: Unfinished = Unfinished.SUSPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPolicy:
    """The criteria of a send port; the first one that is fulfilled closes the batch."""

    count: int = 0  # as soon as it has so many members
    bytes: int = 0  # before its members have more bytes than this together; what is larger by itself goes alone
    age_s: int = 0  # so long after its first message
    idle_s: int = 0  # so long after its latest message
    cron: tuple[str, ...] = ()  # at these times by the clock on the service's wall: minute hour day month weekday
    before_close_s: int | None = None  # so long before the service's delivery window closes; 0: when it closes
    last: Condition | None = None  # with a message of which this holds
    takes: Condition | None = None  # only messages of which this holds are gathered; others go by themselves
    takes_types: tuple[str, ...] = ()  # only documents of these types are gathered; none: of all types
    types: Types = Types.TOGETHER
    group_by: tuple[ValueLocation, ...] = ()  # messages that have the same values there go together
    sort_by: tuple[SortKey, ...] = ()  # the first decides, then the next; at last the order of arrival
    empty: Empty = Empty.NOTHING
    controlled: Controlled | None = None  # for messages that name a batch; the criteria above are not for these
    recovery: Recovery = Recovery.GO_ON
    batcher: str = ""  # the plug-in that decides, too; empty: none
    batcher_settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The service settings a policy depends on: time zone, delivery windows and plug-in."""

    time_zone: str = "UTC"
    windows: tuple[DeliveryWindow, ...] = ()
    batcher: ChosenBatcher | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """A send port: what its batcher collects, and the interchange it sends."""

    sends_to: str  # address or GCID of the service that gets the interchanges
    standard: str  # by which they are assembled: x12, edifact …
    sender: str = ""  # as the envelope names both sides
    receiver: str = ""
    envelope: tuple[tuple[str, str], ...] = ()  # what else stands in it: qualifiers, versions, delimiters …
    policy: BatchPolicy
    ordered: bool = False  # the next batch waits for what becomes of the one before it
    persist_at: int = 0  # joins are written when there are so many; 0: each at once
    gap_free: bool = False  # an interchange whose number is drawn must be sent: its batch cannot be dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """A splitter: what becomes of interchanges that a partner sends."""

    sends_to: str  # address or GCID of the service that gets the documents; an exchange, where they part
    standard: str = ""  # empty: detected
    on_envelope_error: OnEnvelopeError = OnEnvelopeError.REFUSE
    answers_to: str = (
        ""  # address or GCID of the service by which the partner is notified (997, CONTRL, ACK); empty: it is not
    )
    options: tuple[tuple[str, str], ...] = ()  # what was agreed on besides: layout of flat files, 999 instead of 997 …
