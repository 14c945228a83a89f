"""What becomes of an interchange whose faults touch no member.

For standards in which a repair is nothing but passing over what changes no member.
"""

from __future__ import annotations

from collections.abc import Container

from postroad.core.interchange.faults import Repair, judgement
from postroad.core.interchange.nouns import Dirt, Fault, Split
from postroad.errors import Refused


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
