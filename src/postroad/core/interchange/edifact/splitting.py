"""An EDIFACT interchange taken apart.

    examine       everything that is wrong is told, nothing is judged; only what has no envelope at all is refused
    split         the same, judged by what was agreed on with the partner
    …_stream      several interchanges, one behind the other in the same bytes

Kept rules: the fault that leaves it open where a member begins or ends is never let pass; a repair puts right what the rest of
the interchange proves, and no more: a count where the reference agrees, a reference where the count agrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.edifact.delimiters import delimiters_of, readable, skipped
from postroad.core.interchange.edifact.messages import read_message
from postroad.core.interchange.edifact.walking import Walk
from postroad.core.interchange.faults import Repair, judgement, only, without_breaks
from postroad.core.interchange.nouns import MOST_MEMBERS, Dirt, Fault, Member, Split


def examine(data: Buffer, most_members: int = MOST_MEMBERS) -> Split:
    """The one interchange that is in these bytes; that another follows is a fault, since one of them would be lost."""
    return only(examine_stream(data, most_members), "edifact.trailing")


def examine_stream(data: Buffer, most_members: int = MOST_MEMBERS) -> Iterator[Split]:
    """Every interchange in these bytes, one behind the other."""
    raw, at, encoding = readable(data)
    while True:
        walk = Walk(raw, at, encoding, most_members)
        at = skipped(raw, walk.end)
        if raw.startswith((b"UNA", b"UNB"), at):
            yield walk.split
            continue
        yield _with_rest(walk.split, at, len(raw))
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


def _with_rest(found: Split, at: int, end: int) -> Split:
    if at == end:
        return found
    fault = Fault(code="edifact.trailing", text=f"{end - at} bytes follow that are no interchange", at=at)
    return replace(found, faults=(*found.faults, fault))


def _with_right_trailer(member: Member, found: Split) -> Member:
    whole = read_message(member.data, delimiters_of(found.facts))
    reference = without_breaks(whole.reference)
    return structs.replace(member, data=b"".join(whole.written(reference)), reference=reference)


_REPAIR = Repair(
    harmless=("edifact.una", "edifact.unb"),
    provable=("edifact.count", "edifact.control"),
    right_member=_with_right_trailer,
)
