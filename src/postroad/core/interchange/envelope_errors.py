"""Decides about an interchange with envelope errors: accepted, repaired or refused, by one rule for every standard.

Rules: an error that makes member boundaries uncertain is never tolerated, whatever was agreed on. A repair fixes
every error or none, and uses only what the rest of the interchange proves.

In standards where no error can affect a member, a repair only ignores the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace

from postroad.core.interchange.model import InterchangeFault, Member, OnEnvelopeError, Split
from postroad.errors import Refused

_MAX_REPORTED = 10


class UncertainBoundary(Exception):
    """The boundaries of members are no longer certain, so the walk stops."""

    def __init__(self, code: str, text: str, at: int) -> None:
        self.fault = InterchangeFault(code=code, text=text, at=at, fatal=True)


def take_only(found: Iterator[Split], code: str) -> Split:
    """Return the first interchange; if another follows, that is an error with this code."""
    first = next(found)
    if next(found, None) is None:
        return first
    text = "another interchange follows, but only one was expected; split them as a stream"
    return replace(first, faults=(*first.faults, InterchangeFault(code=code, text=text, fatal=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The errors, by code, that a standard can repair."""

    harmless: Container[str] = ()  # codes of errors that a repair only records: no bytes change, and nothing is guessed
    provable: tuple[str, ...] = ()  # redundant values, of which one must be right
    right_member: Callable[[Member, Split], Member] | None = None  # rewrites an incorrect member


NO_REPAIR = Repair()


def judge_with_repair(found: Split, on_error: OnEnvelopeError, repair: Repair = NO_REPAIR) -> Split:
    """Accept, repair or refuse an interchange."""
    if not found.faults:
        return found
    if on_error is OnEnvelopeError.REFUSE or any(fault.fatal for fault in found.faults):
        raise refusal_of(found)
    return found if on_error is OnEnvelopeError.PASS else _repaired(found, repair)


def _repaired(found: Split, repair: Repair) -> Split:
    wrong = {(one.code, one.group, one.member) for one in found.faults}
    if not all(_is_repairable(one, wrong, repair) for one in found.faults):
        raise refusal_of(found)
    members = list(found.members)
    for fault in found.faults:
        if repair.right_member is not None and fault.member >= 0:
            members[fault.member] = repair.right_member(members[fault.member], found)
    faults = tuple(replace(fault, repaired=True) for fault in found.faults)
    return replace(found, members=tuple(members), faults=faults)


def _is_repairable(fault: InterchangeFault, wrong: Container[tuple[str, int, int]], repair: Repair) -> bool:
    if fault.code in repair.provable:
        return not all((code, fault.group, fault.member) in wrong for code in repair.provable)
    return fault.code in repair.harmless


def refusal_of(found: Split) -> Refused:
    """Return a refusal that lists the first errors with their code and offset."""
    told = [f"byte {one.at}: {one.text} ({one.code})" for one in found.faults[:_MAX_REPORTED]]
    left = len(found.faults) - len(told)
    more = [f"and {left} more errors"] if left else []
    return Refused("interchange.malformed", f"interchange {found.reference}: {'; '.join(told + more)}")


def is_same_number(one: str, other: str) -> bool:
    """Return True if two numbers are equal without leading zeros; other values must be the same text."""
    if one == other:
        return True
    return one.isdecimal() and other.isdecimal() and one.lstrip("0") == other.lstrip("0")


def without_breaks(reference: str) -> str:
    """Return a number without line breaks, which are never a part of it."""
    return reference.replace("\r", "").replace("\n", "")


def judge_harmless(found: Split, on_error: OnEnvelopeError, harmless: Container[str]) -> Split:
    """Accept or refuse an interchange; errors with a code in ``harmless`` affect no member, so a repair only records them."""
    return judge_with_repair(found, on_error, Repair(harmless=harmless))


def no_interchange(detail: str) -> Refused:
    """Return the refusal of bytes without any envelope."""
    return Refused("interchange.malformed", detail)


def too_many(at: int, most: int) -> Refused:
    return Refused("wire.too-complex", f"byte {at}: the interchange has more than {most} members")


def fatal(code: str, text: str, at: int) -> InterchangeFault:
    return InterchangeFault(code=code, text=text, at=at, fatal=True)
