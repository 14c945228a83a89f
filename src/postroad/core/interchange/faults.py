"""What becomes of an interchange with faults, the same in every standard.

Kept rules: what leaves it open where a member begins or ends is never let pass, whatever was agreed on; a repair puts every fault
right or none, and is made of what the rest of the interchange proves.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace

from postroad.core.interchange.nouns import Dirt, Fault, Member, Split
from postroad.errors import Refused

_MOST_TOLD = 10


class Uncertain(Exception):
    """Where members begin and end is not certain any more; the walk is over."""

    def __init__(self, code: str, text: str, at: int) -> None:
        self.fault = Fault(code=code, text=text, at=at, fatal=True)


def only(found: Iterator[Split], code: str) -> Split:
    """The first; that another follows is its fault, of this code."""
    first = next(found)
    if next(found, None) is None:
        return first
    text = "another interchange follows, and only one was expected; take them apart as a stream"
    return replace(first, faults=(*first.faults, Fault(code=code, text=text, fatal=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a standard knows to put right, by the codes of faults."""

    harmless: Container[str] = ()  # nothing has to be changed, and nothing guessed
    provable: tuple[str, ...] = ()  # each by the others: one of them must be right
    right_member: Callable[[Member, Split], Member] | None = None  # one that has a fault, written anew


NO_REPAIR = Repair()


def judgement(found: Split, dirt: Dirt, repair: Repair = NO_REPAIR) -> Split:
    """As it is, repaired, or refused."""
    if not found.faults:
        return found
    if dirt is Dirt.REFUSE or any(fault.fatal for fault in found.faults):
        raise refusal(found)
    return found if dirt is Dirt.PASS else _repaired(found, repair)


def _repaired(found: Split, repair: Repair) -> Split:
    wrong = {(one.code, one.group, one.member) for one in found.faults}
    if not all(_is_repairable(one, wrong, repair) for one in found.faults):
        raise refusal(found)
    members = list(found.members)
    for fault in found.faults:
        if repair.right_member is not None and fault.member >= 0:
            members[fault.member] = repair.right_member(members[fault.member], found)
    faults = tuple(replace(fault, repaired=True) for fault in found.faults)
    return replace(found, members=tuple(members), faults=faults)


def _is_repairable(fault: Fault, wrong: Container[tuple[str, int, int]], repair: Repair) -> bool:
    if fault.code in repair.provable:
        return not all((code, fault.group, fault.member) in wrong for code in repair.provable)
    return fault.code in repair.harmless


def refusal(found: Split) -> Refused:
    """Every fault by name and place, as far as a person reads."""
    told = [f"byte {one.at}: {one.text} ({one.code})" for one in found.faults[:_MOST_TOLD]]
    left = len(found.faults) - len(told)
    more = [f"and {left} faults more"] if left else []
    return Refused("interchange.malformed", f"interchange {found.reference}: {'; '.join(told + more)}")


def same_number(one: str, other: str) -> bool:
    """Numbers are the same with and without leading zeros; anything else must be the same text."""
    if one == other:
        return True
    return one.isdecimal() and other.isdecimal() and one.lstrip("0") == other.lstrip("0")


def without_breaks(reference: str) -> str:
    """A number as it was before its lines were wrapped: line breaks in it are never a part of it."""
    return reference.replace("\r", "").replace("\n", "")
