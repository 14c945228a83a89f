"""What becomes of an interchange whose faults touch no member, and how assemblers say that something does not fit.

For standards in which a repair is nothing but passing over what changes no member.
"""

from __future__ import annotations

from collections.abc import Container

from postroad.core.interchange.faults import Repair, judgement
from postroad.core.interchange.nouns import Dirt, Fault, Split
from postroad.errors import Refused

MOST_MEMBERS = 1_000_000


def judged(found: Split, dirt: Dirt, harmless: Container[str]) -> Split:
    """``harmless`` are codes of faults that touch no member: a repair needs nothing but to know of them."""
    return judgement(found, dirt, Repair(harmless=harmless))


def no_interchange(detail: str) -> Refused:
    """For bytes in which there is no envelope at all, so that there is nothing to examine."""
    return Refused("interchange.malformed", detail)


def too_many(at: int, most: int) -> Refused:
    return Refused("wire.too-complex", f"byte {at}: the interchange has more than {most} members")


def fatal(code: str, text: str, at: int) -> Fault:
    return Fault(code=code, text=text, at=at, fatal=True)


def unfit_member(position: int, detail: str) -> Refused:
    """Positions are counted from 1 where people read them."""
    return Refused("interchange.unfit", f"member {position + 1}: {detail}", pointer=f"/members/{position}")


def unfit_value(name: str, detail: str) -> Refused:
    return Refused("interchange.unfit", f"{name}: {detail}", pointer=f"/envelope/{name}")
