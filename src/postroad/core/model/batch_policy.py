"""Batch policies: which messages to a service are gathered, and when what was gathered goes.

Policies are data, saved whole with the service they belong to. What they mean is decided in ``core.batching``; here they are only
described. Kept rule: every criterion may be combined with every other, and 0 or nothing means that it is not one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroad.core.model.directory import Window
from postroad.core.model.rule import Condition, Place, ValueType


class Types(StrEnum):
    """How documents of several types, such as 850 and 860, come together."""

    TOGETHER = "together"  # in one batch
    APART = "apart"  # each type in a batch of its own
    IN_TURN = "inTurn"  # a message of another type closes the batch: the order in which they came is kept


class Empty(StrEnum):
    """What a scheduled time does when nothing was gathered."""

    NOTHING = "nothing"
    SEND = "send"  # an interchange without members, for partners that take silence for a fault


class Unfinished(StrEnum):
    """What becomes of a batch whose application does not end it in time."""

    SEND = "send"  # as it is
    SUSPEND = "suspend"  # somebody looks into it


class Recovery(StrEnum):
    """What becomes of a batch that was open when the network stopped without warning."""

    GO_ON = "goOn"
    PASS = "pass"  # noqa: S105 - no password: it is closed and sent as it is
    FAIL = "fail"  # it is suspended


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One of the values by which members stand in order; those without it come last, whichever way the others go."""

    place: Place
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
class Policy:
    """When a batch goes: the first criterion that is fulfilled decides."""

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
    group_by: tuple[Place, ...] = ()  # messages that have the same values there go together
    sort_by: tuple[SortKey, ...] = ()  # the first decides, then the next; at last the order of arrival
    empty: Empty = Empty.NOTHING
    controlled: Controlled | None = None  # for messages that name a batch; the criteria above are not for these
    recovery: Recovery = Recovery.GO_ON


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """What a policy has to know of the service that it belongs to: its clock, and when it may be pushed to."""

    time_zone: str = "UTC"
    windows: tuple[Window, ...] = ()
