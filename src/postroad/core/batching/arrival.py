"""Adds a message to the open batch of its key, to a new batch, or to none.

Rules: an overdue batch is closed before the message is added, so a late timer makes no difference. A message that
would make a batch too large, has another type or restarts the application's batch closes the current batch first.
Every accepted message is in exactly one batch. A batch that the application controls is closed only by the
application or its timeout.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from postroad.core.batching.close_criteria import close_if_due, end_unfinished, is_full
from postroad.core.batching.moves import add_member, close_batch, open_batch
from postroad.core.batching.plug_in import notify_added, start_batch
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Port, Types
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.places import lookup_of
from postroad.core.routing.conditions.subject import Subject

SORT_CHARS = 1_000  # maximum of a value by which members are sorted
KEY_CHARS = 200  # maximum of a value that members share; every recorded change of the batch contains it
TRUE = ("true", "1")


class ArrivingMessage(Struct, frozen=True, kw_only=True, gc=False):
    """The properties of a message that a batch policy evaluates."""

    member: BatchMember
    key: tuple[str, ...] = ()  # of its batch; empty if it is sent alone
    taken: bool = True  # False: it is sent alone
    last: bool = False  # the policy's ``last`` condition holds
    controlled: bool = False  # it names a batch of the application
    starts: bool = False
    ends: bool = False


class ArrivalResult(NamedTuple):
    """The result of adding a message: its batch, and the batch that it closed, if any."""

    batch: Batch | None  # its batch, possibly closed by it; None: it is sent alone
    before: Batch | None = None  # the batch that was closed or suspended before it


def arrival_of(policy: BatchPolicy, subject: Subject, member: BatchMember) -> ArrivingMessage:
    """Return the values of a message that the policy needs; ``member`` is passed without its sort values."""
    member = replace(member, sort=_sort_values(policy, subject))
    marked = _marked_arrival(policy.controlled, subject, member) if policy.controlled is not None else None
    if marked is not None:
        return marked
    if not _takes(policy, subject, member):
        return ArrivingMessage(member=member, taken=False)
    return ArrivingMessage(
        member=member,
        key=_key(policy, subject, member),
        last=policy.last is not None and compile_condition(policy.last)(subject),
    )


def arrival_without_content(policy: BatchPolicy, member: BatchMember) -> ArrivingMessage | None:
    """Return the arrival if the policy needs only size and type; None if it must read the message."""
    looks = policy.controlled is not None or policy.takes is not None or policy.last is not None
    if looks or policy.group_by or policy.sort_by:
        return None
    if not is_selective(policy) or (policy.takes_types and member.kind not in policy.takes_types):
        return ArrivingMessage(member=member, taken=False)
    kind = (member.kind,) if policy.types is Types.APART else ()
    return ArrivingMessage(member=member, key=("group", *kind))


def add_to_batch(
    policy: BatchPolicy, port: Port, arrival: ArrivingMessage, current: Batch | None, batch_id: str, now_us: int
) -> ArrivalResult:
    """Add the message; ``current`` is the open batch of its key, ``batch_id`` the ID for a new one."""
    if not arrival.taken:
        return ArrivalResult(None)
    before = (
        None
        if current is None
        else _close_if_unfit(policy, arrival, close_if_due(policy, port, current, now_us), now_us)
    )
    if before is not None and before.state is BatchState.OPEN:
        return ArrivalResult(_close_if_complete(policy, port, arrival, _with(port, before, arrival, now_us), now_us))
    fresh = open_batch(batch_id, arrival.key, now_us, kind=arrival.member.kind, controlled=arrival.controlled)
    return ArrivalResult(_close_if_complete(policy, port, arrival, _with(port, fresh, arrival, now_us), now_us), before)


def is_selective(policy: BatchPolicy) -> bool:
    """Whether the policy gathers messages that no application has marked."""
    limits = (policy.count, policy.bytes, policy.age_s, policy.idle_s, policy.cron, policy.last, policy.batcher)
    return any(limits) or policy.before_close_s is not None or policy.types is Types.IN_TURN


def _with(port: Port, batch: Batch, arrival: ArrivingMessage, now_us: int) -> Batch:
    is_new = not batch.count
    batch = add_member(batch, arrival.member, now_us)
    batch = replace(batch, started=True) if arrival.starts else batch
    if port.batcher is None:
        return batch
    batch = start_batch(port, batch, now_us) if is_new else batch
    return notify_added(port, batch, arrival.member, now_us)


def _close_if_unfit(policy: BatchPolicy, arrival: ArrivingMessage, batch: Batch, now_us: int) -> Batch:
    """Return the batch, closed if the message does not fit into it."""
    if batch.state is not BatchState.OPEN:
        return batch
    if arrival.controlled:
        if arrival.starts and batch.started:
            return end_unfinished(policy, batch, "its application restarted it before closing it", now_us)
        return batch
    if policy.types is Types.IN_TURN and arrival.member.kind != batch.kind:
        return close_batch(
            batch, Criterion.TYPE, f"{arrival.member.kind or 'another type'} came after {batch.kind}", now_us
        )
    if policy.bytes and batch.bytes + arrival.member.bytes > policy.bytes:
        why = f"the next message would have made it larger than {policy.bytes} bytes"
        return close_batch(batch, Criterion.BYTES, why, now_us)
    return batch


def _close_if_complete(policy: BatchPolicy, port: Port, arrival: ArrivingMessage, batch: Batch, now_us: int) -> Batch:
    """Return the batch, closed if the message was its last."""
    if batch.state is not BatchState.OPEN:
        return batch  # a plug-in decided
    if arrival.ends:
        return close_batch(batch, Criterion.END, "its application closed it", now_us)
    if arrival.last:
        return close_batch(batch, Criterion.CONDITION, "a message met its condition", now_us)
    # An overdue batch was closed before the message, and no message makes a batch due earlier.
    return close_if_due(policy, port, batch, now_us) if is_full(policy, batch) else batch


def _marked_arrival(controlled: Controlled, subject: Subject, member: BatchMember) -> ArrivingMessage | None:
    """Return the arrival in the batch that the message names; None if it names none."""
    named = subject.find_content(lookup_of(_property(controlled.id_property))).texts
    if not named or not named[0]:
        return None
    return ArrivingMessage(
        member=member,
        key=("batch", _bounded(str(named[0]))),
        controlled=True,
        starts=_is_true_property(subject, controlled.start_property),
        ends=_is_true_property(subject, controlled.end_property),
    )


def _is_true_property(subject: Subject, name: str) -> bool:
    return any(text in TRUE for text in subject.find_content(lookup_of(_property(name))).texts)


@lru_cache(maxsize=1_024)
def _property(name: str) -> ValueLocation:
    return ValueLocation(where=MessageSection.HEADER, path=f"properties.{name}")


def _takes(policy: BatchPolicy, subject: Subject, member: BatchMember) -> bool:
    if policy.takes_types and member.kind not in policy.takes_types:
        return False
    return is_selective(policy) and (policy.takes is None or compile_condition(policy.takes)(subject))


def _key(policy: BatchPolicy, subject: Subject, member: BatchMember) -> tuple[str, ...]:
    kind = (member.kind,) if policy.types is Types.APART else ()
    return ("group", *kind, *(_group_value(subject, place) for place in policy.group_by))


def _group_value(subject: Subject, place: ValueLocation) -> str:
    """Return the single value at a location; none or several as a JSON array, which no single value can equal."""
    texts = subject.find_content(lookup_of(place)).texts
    if len(texts) == 1 and not texts[0].startswith("["):
        return _bounded(str(texts[0]))
    return _bounded(encode([str(text) for text in texts]).decode())


def _bounded(value: str) -> str:
    """Return the value; a long one is cut and a digest is appended, so that different values stay distinct."""
    if len(value) <= KEY_CHARS:
        return value
    return f"{value[:KEY_CHARS]}… {sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _sort_values(policy: BatchPolicy, subject: Subject) -> tuple[tuple[str, str], ...]:
    lookups = [lookup_of(key.place) for key in policy.sort_by]
    found = [(lookup.key, subject.find_content(lookup).texts) for lookup in lookups]
    return tuple((key, str(texts[0])[:SORT_CHARS]) for key, texts in found if texts)
