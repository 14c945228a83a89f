"""The profile of a send port: what it batches, when a batch closes, and where it is sent.

Rules: conditions and locations are written as in rules. A written policy, without defaults, is read back as the same
policy. ``send_port_check`` checks whether it is usable, with the service and the network.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, StringConstraints

from postroad.core.batching.cron import EXPRESSION_CHARS
from postroad.core.batching.policy_check import MAX_BYTES, MAX_COUNT, MAX_KEYS, MAX_SCHEDULES, MAX_SECONDS
from postroad.core.configuration.entries.rules import ConditionEntry, PlaceEntry, condition_entry, place_entry
from postroad.core.configuration.entries.standard_options import OptionsEntry, options_entry, options_of
from postroad.core.configuration.shapes import Line, StrictShape, Word, unique
from postroad.core.model.batch_policy import (
    Batching,
    BatchPolicy,
    Controlled,
    Empty,
    Recovery,
    SortKey,
    Types,
    Unfinished,
)
from postroad.core.model.rule import ValueType

StandardName = Annotated[StrictStr, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Cron = Annotated[StrictStr, StringConstraints(min_length=1, max_length=EXPRESSION_CHARS)]
Criterion = Annotated[StrictInt, Field(ge=0, le=MAX_SECONDS)]
MAX_PERSIST = 100_000


class SortEntry(PlaceEntry):
    """A place whose values put members in order."""

    type: Annotated[ValueType, Field(description="Type of the comparison")] = ValueType.STRING
    descending: StrictBool = False

    def sort_key(self) -> SortKey:
        return SortKey(place=self.place(), type=self.type, descending=self.descending)


class ControlledProfile(StrictShape):
    """Batches that the application marks by properties of its messages."""

    id_property: Word = "BatchID"
    start_property: Word = "BatchStart"
    end_property: Word = "BatchEnd"
    unfinished_after_s: Annotated[
        StrictInt, Field(alias="unfinishedAfterSeconds", ge=1, le=MAX_SECONDS, description="Since its first message")
    ] = 86_400
    unfinished: Annotated[Unfinished, Field(description="What happens to a batch that was not closed in time")] = (
        Unfinished.SUSPEND
    )

    def build(self) -> Controlled:
        return Controlled(**self.model_dump())


class BatchingProfile(StrictShape):
    """The first criterion that is fulfilled closes a batch; 0, or left out: it is not one."""

    sends_to: Annotated[Word, Field(description="Address or GCID of the service that gets the interchanges")]
    standard: Annotated[StandardName, Field(description="Standard of the interchanges: x12, edifact, hl7 …")]
    sender: Annotated[Line, Field(description="Identifiers of both sides in the envelope")] = ""
    receiver: Line = ""
    envelope: Annotated[OptionsEntry, Field(description="Other options of the standard, by name")]
    count: Annotated[
        StrictInt, Field(ge=0, le=MAX_COUNT, description="Closes the batch at this number of messages")
    ] = 0
    bytes: Annotated[
        StrictInt, Field(ge=0, le=MAX_BYTES, description="Closes the batch before it exceeds this size")
    ] = 0
    age_s: Annotated[Criterion, Field(alias="ageSeconds", description="Time since the first message")] = 0
    idle_s: Annotated[Criterion, Field(alias="idleSeconds", description="Time since the latest message")] = 0
    cron: Annotated[
        tuple[Cron, ...],
        Field(max_length=MAX_SCHEDULES, description="Schedule: minute hour day month weekday"),
        AfterValidator(unique),
    ] = ()
    before_close_s: Annotated[
        Criterion | None,
        Field(
            alias="beforeCloseSeconds",
            description="Time before the service's delivery window closes; 0: when it closes",
        ),
    ] = None
    last: Annotated[ConditionEntry | None, Field(description="With a message of which this holds")] = None
    takes: Annotated[
        ConditionEntry | None, Field(description="Only matching messages are batched; others are sent individually")
    ] = None
    takes_types: Annotated[
        tuple[Word, ...], Field(max_length=1_000, description="Only documents of these types"), AfterValidator(unique)
    ] = ()
    types: Annotated[Types, Field(description="How documents of several types are combined")] = Types.TOGETHER
    group_by: Annotated[
        tuple[PlaceEntry, ...], Field(max_length=MAX_KEYS, description="Messages with equal values share a batch")
    ] = ()
    sort_by: Annotated[
        tuple[SortEntry, ...], Field(max_length=MAX_KEYS, description="Order of the messages; ties by arrival")
    ] = ()
    empty: Annotated[Empty, Field(description="What happens at a scheduled time without messages")] = Empty.NOTHING
    controlled: ControlledProfile | None = None
    recovery: Annotated[Recovery, Field(description="What happens to batches that were open during a crash")] = (
        Recovery.GO_ON
    )
    batcher: Annotated[
        StandardName | Literal[""], Field(description="A batcher plug-in that also decides when a batch is complete")
    ] = ""
    batcher_settings: Annotated[
        OptionsEntry, Field(description="Settings passed to the plug-in, by the names the plug-in defines")
    ]
    ordered: Annotated[StrictBool, Field(description="The next batch waits for the result of this one")] = False
    persist_at: Annotated[
        StrictInt,
        Field(ge=0, le=MAX_PERSIST, description="Number of messages written at a time; 0: each at once"),
    ] = 0
    gap_free: Annotated[StrictBool, Field(description="A batch with a control number cannot be dropped")] = False

    def batching(self) -> Batching:
        """The directory's object for this profile."""
        return Batching(
            sends_to=self.sends_to,
            standard=self.standard,
            sender=self.sender,
            receiver=self.receiver,
            envelope=options_of(self.envelope),
            policy=self._policy(),
            ordered=self.ordered,
            persist_at=self.persist_at,
            gap_free=self.gap_free,
        )

    def _policy(self) -> BatchPolicy:
        return BatchPolicy(
            count=self.count,
            bytes=self.bytes,
            age_s=self.age_s,
            idle_s=self.idle_s,
            cron=self.cron,
            before_close_s=self.before_close_s,
            last=self.last.condition() if self.last else None,
            takes=self.takes.condition() if self.takes else None,
            takes_types=self.takes_types,
            types=self.types,
            group_by=tuple(place.place() for place in self.group_by),
            sort_by=tuple(key.sort_key() for key in self.sort_by),
            empty=self.empty,
            controlled=self.controlled.build() if self.controlled else None,
            recovery=self.recovery,
            batcher=self.batcher,
            batcher_settings=options_of(self.batcher_settings),
        )


# ---- and back --------------------------------------------------------------------------------------------------------


def batching_entry(batching: Batching) -> dict[str, Any]:
    """Return a send port as it is written in a document, without defaults."""
    port = {
        "sendsTo": batching.sends_to,
        "standard": batching.standard,
        "sender": batching.sender,
        "receiver": batching.receiver,
        "envelope": options_entry(batching.envelope),
        **_policy_entry(batching.policy),
        "ordered": batching.ordered,
        "persistAt": batching.persist_at,
        "gapFree": batching.gap_free,
    }
    return {name: value for name, value in port.items() if value != BATCHING_DEFAULTS.get(name)}


def _policy_entry(policy: BatchPolicy) -> dict[str, Any]:
    return {
        "count": policy.count,
        "bytes": policy.bytes,
        "ageSeconds": policy.age_s,
        "idleSeconds": policy.idle_s,
        "cron": list(policy.cron),
        "beforeCloseSeconds": policy.before_close_s,
        "last": condition_entry(policy.last) if policy.last else None,
        "takes": condition_entry(policy.takes) if policy.takes else None,
        "takesTypes": list(policy.takes_types),
        "types": policy.types.value,
        "groupBy": [place_entry(place) for place in policy.group_by],
        "sortBy": [_sort_entry(key) for key in policy.sort_by],
        "empty": policy.empty.value,
        "controlled": _controlled_entry(policy.controlled) if policy.controlled else None,
        "recovery": policy.recovery.value,
        "batcher": policy.batcher,
        "batcherSettings": options_entry(policy.batcher_settings),
    }


def _sort_entry(key: SortKey) -> dict[str, Any]:
    kind = {"type": key.type.value} if key.type is not ValueType.STRING else {}
    return place_entry(key.place) | kind | ({"descending": True} if key.descending else {})


def _controlled_entry(controlled: Controlled) -> dict[str, Any]:
    return {
        "idProperty": controlled.id_property,
        "startProperty": controlled.start_property,
        "endProperty": controlled.end_property,
        "unfinishedAfterSeconds": controlled.unfinished_after_s,
        "unfinished": controlled.unfinished.value,
    }


BATCHING_DEFAULTS: dict[str, Any] = {
    **_policy_entry(BatchPolicy()),
    "sender": "", "receiver": "", "envelope": {}, "ordered": False, "persistAt": 0, "gapFree": False,
}  # fmt: skip
