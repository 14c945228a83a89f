"""Splits X12 interchanges into transaction sets.

    examine       everything that is wrong is reported, nothing is judged; only what has no envelope at all is refused
    split         the same, judged by what was agreed on with the partner
    …_stream      several interchanges, one behind the other in the same bytes

Rules: the fault that leaves it open where a member begins or ends is never let pass; a repair puts right what the rest of
the interchange proves, and no more: a count where the control number agrees, a control number where the count agrees.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.envelope_errors import Repair, judge_with_repair, take_only, without_breaks
from postroad.core.interchange.model import MAX_MEMBERS, Member, OnEnvelopeError, Split
from postroad.core.interchange.x12.delimiters import delimiters_of, to_readable
from postroad.core.interchange.x12.transaction_sets import read_set, split_with_trailer
from postroad.core.interchange.x12.walk import X12Walk, find_rest


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Reads the one interchange in these bytes; a second one is an error, since it would be lost."""
    return take_only(examine_stream(data, most_members), "x12.trailing")


def examine_stream(data: Buffer, most_members: int = MAX_MEMBERS) -> Iterator[Split]:
    """Yield every interchange in these bytes."""
    return (walk.split for walk in walk_interchanges(data, most_members))


def walk_interchanges(data: Buffer, most_members: int = MAX_MEMBERS) -> Iterator[X12Walk]:
    """Walks every interchange in these bytes; bytes after the last one are an error of that one."""
    raw, at, encoding = to_readable(data)
    while True:
        walk = X12Walk(raw, at, encoding, most_members)
        at = find_rest(raw, walk.end)
        is_last = not raw.startswith(b"ISA", at)
        if is_last and at < len(raw):
            walk.note_rest(at)
        yield walk
        if is_last:
            return


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    """The one interchange that is in these bytes, if it may pass."""
    return judge_split(examine(data, most_members), on_error)


def split_stream(
    data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS
) -> Iterator[Split]:
    """Yield each interchange when it has been checked; interchanges before a refused one have been yielded."""
    return (judge_split(found, on_error) for found in examine_stream(data, most_members))


def judge_split(found: Split, on_error: OnEnvelopeError) -> Split:
    """Accepts, repairs or refuses an interchange that was examined."""
    return judge_with_repair(found, on_error, _REPAIR)


def _with_right_trailer(member: Member, found: Split) -> Member:
    whole = read_set(member.data, delimiters_of(found.facts))
    reference = without_breaks(whole.reference)
    return structs.replace(member, data=b"".join(split_with_trailer(whole, reference)), reference=reference)


_REPAIR = Repair(
    harmless=("x12.isa", "x12.unterminated"),
    provable=("x12.count", "x12.control"),
    right_member=_with_right_trailer,
)
