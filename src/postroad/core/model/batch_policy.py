"""Send ports and splitters: which messages are gathered, when a batch is sent, and how interchanges are split.

Policies are data, saved completely with their service: a *batcher*, whose mailbox is a send port, or a *splitter*,
which receives interchanges from partners. ``core.batching`` and ``core.interchange`` interpret them; here they are only
described. Rule:
every criterion may be combined with every other, and 0 or empty disables a criterion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroad.core.model.batcher import ChosenBatcher
from postroad.core.model.rule import Condition, ValueLocation, ValueType
from postroad.core.model.window import DeliveryWindow


class Types(StrEnum):
    """How documents of several types, such as 850 and 860, are divided into batches."""

    TOGETHER = "together"  # in one batch
    APART = "apart"  # each type in a batch of its own
    IN_TURN = "inTurn"  # a message of another type closes the batch, which keeps the order of arrival


class Empty(StrEnum):
    """What a send port does at a scheduled time without messages."""

    NOTHING = "nothing"
    SEND = "send"  # an interchange without members, for partners that treat silence as an error


class Unfinished(StrEnum):
    """What happens to a batch that its application does not end in time."""

    SEND = "send"  # as it is
    SUSPEND = "suspend"  # until an owner decides


class Recovery(StrEnum):
    """What happens to a batch that was open when the network stopped without warning."""

    GO_ON = "goOn"
    PASS = "pass"  # noqa: S105 - not a password: it is closed and sent as it is
    FAIL = "fail"  # it is suspended


class OnEnvelopeError(StrEnum):
    """What happens to an interchange with envelope errors; agreed on with each partner."""

    REFUSE = "refuse"  # the whole interchange
    REPAIR = "repair"  # errors that can be fixed without guessing are; the rest is refused
    PASS = "pass"  # noqa: S105 - not a password: it is accepted unchanged, and errors are reported


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """A value by which members are sorted; members without the value are last."""

    place: ValueLocation
    type: ValueType = ValueType.STRING
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """Batches that the application controls: it names the batch, and marks its first and last message."""

    id_property: str = "BatchID"
    start_property: str = "BatchStart"
    end_property: str = "BatchEnd"
    unfinished_after_s: int = 86_400  # since its first message
    unfinished: Unfinished = Unfinished.SUSPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPolicy:
    """The criteria of a send port; the first one that is met closes the batch."""

    count: int = 0  # number of members
    bytes: int = 0  # maximum bytes of all members together; a larger member is sent alone
    age_s: int = 0  # seconds since its first message
    idle_s: int = 0  # seconds since its latest message
    cron: tuple[str, ...] = ()  # at these times in the service's time zone: minute hour day month weekday
    before_close_s: int | None = None  # seconds before the delivery window closes; 0: when it closes
    last: Condition | None = None  # with the first message that meets this condition
    takes: Condition | None = None  # only messages that meet this are gathered; others are sent alone
    takes_types: tuple[str, ...] = ()  # only documents of these types are gathered; empty: all
    types: Types = Types.TOGETHER
    group_by: tuple[ValueLocation, ...] = ()  # messages with the same values here share a batch
    sort_by: tuple[SortKey, ...] = ()  # in order of priority; last, the order of arrival
    empty: Empty = Empty.NOTHING
    controlled: Controlled | None = None  # for messages that name a batch; they ignore the criteria above
    recovery: Recovery = Recovery.GO_ON
    batcher: str = ""  # name of a plug-in that also decides; empty: none
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

    sends_to: str  # address or GCID of the service that receives the interchanges
    standard: str  # of the interchanges: x12, edifact …
    sender: str = ""  # both sides as the envelope names them
    receiver: str = ""
    envelope: tuple[tuple[str, str], ...] = ()  # other values: qualifiers, versions, delimiters …
    policy: BatchPolicy
    ordered: bool = False  # a batch waits until the one before it has ended
    persist_at: int = 0  # joins that are recorded together; 0: each at once
    gap_free: bool = False  # an interchange that has a number must be sent: its batch cannot be dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """A splitter: where the documents of a partner's interchanges are sent, and how they are acknowledged."""

    sends_to: str  # address or GCID of the service that receives the documents; an exchange distributes them
    standard: str = ""  # empty: detected
    on_envelope_error: OnEnvelopeError = OnEnvelopeError.REFUSE
    answers_to: str = (
        ""  # address or GCID of the service for acknowledgments to the partner (997, CONTRL, ACK); empty: none
    )
    options: tuple[tuple[str, str], ...] = ()  # other options: layout of flat files, 999 instead of 997 …
