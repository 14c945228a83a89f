"""Checks a batch policy when it is saved.

Rule: a setting that could never close a batch, or never take effect, is refused with its location.
"""

from __future__ import annotations

from postroad.core.batching.arrival import is_selective
from postroad.core.batching.cron import read_cron
from postroad.core.delivery.windows import next_closing
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Port, Types
from postroad.core.model.rule import Condition, ValueLocation
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.places import lookup_of
from postroad.errors import Refused

MAX_COUNT = 1_000_000
MAX_BYTES = 1 << 40
MAX_SECONDS = 366 * 86_400
MAX_KEYS = 10
MAX_SCHEDULES = 50
SOME_MOMENT_US = 1_767_225_600_000_000  # any moment: windows are weekly, so the result does not depend on it


def check_policy(policy: BatchPolicy, port: Port) -> None:
    """Refuse a policy that cannot be used at this port."""
    _check_numbers(policy)
    _check_criteria(policy)
    _check_calendar(policy, port)
    _check_places(policy)
    if policy.controlled is not None:
        _check_controlled(policy.controlled)


def _check_numbers(policy: BatchPolicy) -> None:
    for name, value, most in (
        ("count", policy.count, MAX_COUNT),
        ("bytes", policy.bytes, MAX_BYTES),
        ("age_s", policy.age_s, MAX_SECONDS),
        ("idle_s", policy.idle_s, MAX_SECONDS),
        ("before_close_s", policy.before_close_s or 0, MAX_SECONDS),
    ):
        _check_number(name, value, 0, most)


def _check_number(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise _invalid(name, f"{name} is {value}; use a number from {least} to {most}")


def _check_criteria(policy: BatchPolicy) -> None:
    if not is_selective(policy) and policy.controlled is None:
        raise _invalid("", "no criterion would close a batch; set count, bytes, a time, a schedule or a condition")
    if policy.empty is Empty.NOTHING:
        return
    if not policy.cron and policy.before_close_s is None:
        raise _invalid("empty", "empty batches are sent at scheduled times; set a schedule")
    if policy.group_by or policy.types is Types.APART:
        raise _invalid("empty", "empty batches cannot be grouped; remove one of the two settings")


def _check_calendar(policy: BatchPolicy, port: Port) -> None:
    if len(policy.cron) > MAX_SCHEDULES:
        raise _invalid("cron", f"there are {len(policy.cron)} schedules; at most {MAX_SCHEDULES} are allowed")
    for text in policy.cron:
        read_cron(text)
    never = policy.before_close_s is not None and next_closing(port.windows, port.time_zone, SOME_MOMENT_US) is None
    if never:
        raise _invalid("before_close_s", "the service has no delivery window that closes; add one, or use cron")


def _check_places(policy: BatchPolicy) -> None:
    for name, places in (("group_by", policy.group_by), ("sort_by", tuple(key.place for key in policy.sort_by))):
        if len(places) > MAX_KEYS:
            raise _invalid(name, f"{name} has {len(places)} values; at most {MAX_KEYS} are allowed")
        for number, place in enumerate(places):
            _check_readable(f"{name}/{number}", place)
    for name, condition in (("last", policy.last), ("takes", policy.takes)):
        if condition is not None:
            _check_readable(name, condition)


def _check_readable(pointer: str, written: ValueLocation | Condition) -> None:
    try:
        if isinstance(written, ValueLocation):
            lookup_of(written)
        else:
            compile_condition(written)
    except Refused as fault:
        raise _invalid(pointer, fault.detail) from None


def _check_controlled(controlled: Controlled) -> None:
    # A batch that its application never ends must not wait indefinitely.
    _check_number("unfinished_after_s", controlled.unfinished_after_s, 1, MAX_SECONDS)
    names = (controlled.id_property, controlled.start_property, controlled.end_property)
    if not all(names) or len(set(names)) < len(names):
        raise _invalid("controlled", "the properties of the batch's ID, start and end need different names")


def _invalid(pointer: str, detail: str) -> Refused:
    return Refused("batching.invalid", detail, pointer=f"/{pointer}" if pointer else "")
