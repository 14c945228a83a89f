"""Splits EDIFACT interchanges into messages.

    examine       reports all errors without a decision; only bytes without any envelope are refused
    split         also decides by the agreement with the partner
    …_stream      several consecutive interchanges in the same bytes

Rules: an error that makes the boundaries of members uncertain is never accepted. A repair corrects only what the rest of
the interchange proves: a count if the reference is right, a reference if the count is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.edifact.delimiters import delimiters_of, skip_blanks, to_readable
from postroad.core.interchange.edifact.messages import read_message
from postroad.core.interchange.edifact.walk import EdifactWalk
from postroad.core.interchange.envelope_errors import Repair, judge_with_repair, take_only, without_breaks
from postroad.core.interchange.model import MAX_MEMBERS, InterchangeFault, Member, OnEnvelopeError, Split


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Read the only interchange in these bytes; a second one is an error, since it would be lost."""
    return take_only(examine_stream(data, most_members), "edifact.trailing")


def examine_stream(data: Buffer, most_members: int = MAX_MEMBERS) -> Iterator[Split]:
    """Yield every interchange in these bytes."""
    raw, at, encoding = to_readable(data)
    while True:
        walk = EdifactWalk(raw, at, encoding, most_members)
        at = skip_blanks(raw, walk.end)
        if raw.startswith((b"UNA", b"UNB"), at):
            yield walk.split
            continue
        yield _with_rest(walk.split, at, len(raw))
        return


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    """Return the only interchange in these bytes, if it is accepted."""
    return judge_split(examine(data, most_members), on_error)


def split_stream(
    data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS
) -> Iterator[Split]:
    """Yield each interchange when it has been checked; interchanges before a refused one have been yielded."""
    return (judge_split(found, on_error) for found in examine_stream(data, most_members))


def judge_split(found: Split, on_error: OnEnvelopeError) -> Split:
    """Accept, repair or refuse an examined interchange."""
    return judge_with_repair(found, on_error, _REPAIR)


def _with_rest(found: Split, at: int, end: int) -> Split:
    if at == end:
        return found
    fault = InterchangeFault(
        code="edifact.trailing", text=f"{end - at} bytes follow that are not an interchange", at=at
    )
    return replace(found, faults=(*found.faults, fault))


def _with_right_trailer(member: Member, found: Split) -> Member:
    whole = read_message(member.data, delimiters_of(found.facts))
    reference = without_breaks(whole.reference)
    return structs.replace(member, data=b"".join(whole.write(reference)), reference=reference)


_REPAIR = Repair(
    harmless=("edifact.una", "edifact.unb"),
    provable=("edifact.count", "edifact.control"),
    right_member=_with_right_trailer,
)
