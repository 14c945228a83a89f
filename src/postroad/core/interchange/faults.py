"""What becomes of an interchange with faults, the same in every standard.

Kept rule: what leaves it open where a member begins or ends is never let pass, whatever was agreed on.
"""

from __future__ import annotations

from collections.abc import Callable

from postroad.core.interchange.nouns import Dirt, Split
from postroad.errors import Refused

_MOST_TOLD = 10


def judgement(found: Split, dirt: Dirt, repaired: Callable[[Split], Split]) -> Split:
    """As it is, repaired, or refused; ``repaired`` puts every fault right or refuses."""
    if not found.faults:
        return found
    if dirt is Dirt.REFUSE or any(fault.fatal for fault in found.faults):
        raise refusal(found)
    return found if dirt is Dirt.PASS else repaired(found)


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
