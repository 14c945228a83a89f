"""An X12 interchange taken apart.

    examine       everything that is wrong is told, nothing is judged; only what has no envelope at all is refused
    split         the same, judged by what was agreed on with the partner
    …_stream      several interchanges, one behind the other in the same bytes

Kept rules: the fault that leaves it open where a member begins or ends is never let pass; a repair puts right what the rest of
the interchange proves, and no more: a count where the control number agrees, a control number where the count agrees.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.faults import Repair, judgement, only, without_breaks
from postroad.core.interchange.nouns import MOST_MEMBERS, Dirt, Member, Split
from postroad.core.interchange.x12.delimiters import delimiters_of, readable
from postroad.core.interchange.x12.sets import read_set, with_trailer
from postroad.core.interchange.x12.walking import Walk, rest_after


def examine(data: Buffer, most_members: int = MOST_MEMBERS) -> Split:
    """The one interchange that is in these bytes; that another follows is a fault, since one of them would be lost."""
    return only(examine_stream(data, most_members), "x12.trailing")


def examine_stream(data: Buffer, most_members: int = MOST_MEMBERS) -> Iterator[Split]:
    """Every interchange in these bytes, one behind the other."""
    return (walk.split for walk in walks(data, most_members))


def walks(data: Buffer, most_members: int = MOST_MEMBERS) -> Iterator[Walk]:
    """A walk through every interchange in these bytes; what stands behind the last is one of its faults."""
    raw, at, encoding = readable(data)
    while True:
        walk = Walk(raw, at, encoding, most_members)
        at = rest_after(raw, walk.end)
        is_last = not raw.startswith(b"ISA", at)
        if is_last and at < len(raw):
            walk.tell_rest(at)
        yield walk
        if is_last:
            return


def split(data: Buffer, dirt: Dirt = Dirt.REFUSE, most_members: int = MOST_MEMBERS) -> Split:
    """The one interchange that is in these bytes, if it may pass."""
    return judged(examine(data, most_members), dirt)


def split_stream(data: Buffer, dirt: Dirt = Dirt.REFUSE, most_members: int = MOST_MEMBERS) -> Iterator[Split]:
    """Every interchange in these bytes, each judged when it is come to; those before one that is refused have been given."""
    return (judged(found, dirt) for found in examine_stream(data, most_members))


def judged(found: Split, dirt: Dirt) -> Split:
    """What becomes of an interchange that was examined: as it is, repaired, or refused."""
    return judgement(found, dirt, _REPAIR)


def _with_right_trailer(member: Member, found: Split) -> Member:
    whole = read_set(member.data, delimiters_of(found.facts))
    reference = without_breaks(whole.reference)
    return structs.replace(member, data=b"".join(with_trailer(whole, reference)), reference=reference)


_REPAIR = Repair(
    harmless=("x12.isa", "x12.unterminated"),
    provable=("x12.count", "x12.control"),
    right_member=_with_right_trailer,
)
