"""What the partner is told of an interchange that came: TA1 for its envelope, 997 or 999 for each of its groups.

Kept rules: an acknowledgement is never acknowledged; only the envelope was looked at, so nothing is claimed of what the documents
say; what was not taken is rejected as a whole, with the reasons where they were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postroad.core.interchange.nouns import Envelope, Fault, Group, Member, Numbers, Split
from postroad.core.interchange.x12.answer_codes import GROUP_CODES, INTERCHANGE_CODES, SET_CODES, UNUSABLE_CONTENT
from postroad.core.interchange.x12.assembling import assemble_with
from postroad.core.interchange.x12.delimiters import Delimiters
from postroad.core.interchange.x12.envelopes import marks_of, segment

ACKNOWLEDGEMENTS = "FA"  # the functional group of 997 and 999
_MOST_CODES = 5  # in AK5 and AK9
_CONTROLS = bytes(range(32))
_WITH_VERSION_SINCE = "005010"


def acknowledge(
    found: Split, envelope: Envelope, numbers: Numbers, *, taken: bool = True, kind: str = ""
) -> Iterator[bytes]:
    """The interchange to send back; nothing at all where nothing was asked for and nothing is wrong.

    ``kind`` is 997 or 999; without it, 999 answers what follows an implementation guide (005010X222A1), and 997 the rest."""
    taken = taken and not any(fault.fatal for fault in found.faults)
    marks = marks_of(envelope)
    about_all = [_segment(marks, ["TA1", *_about_interchange(found, taken)])] if _needs_ta1(found, taken) else []
    sets = [
        _written(found, place, kind or _kind_for(group), marks, taken)
        for place, group in enumerate(found.groups)
        if _needs_answer(found, place, taken)
    ]
    if about_all or sets:
        yield from assemble_with(about_all, sets, _for_answers(envelope), numbers)


def _needs_ta1(found: Split, taken: bool) -> bool:
    if not found.members and "ta1" in found.facts:
        return False
    return not taken or found.facts.get("acknowledgment") == "1" or bool(_faults(found))


def _needs_answer(found: Split, place: int, taken: bool) -> bool:
    if found.groups[place].kind == ACKNOWLEDGEMENTS:
        return False
    return taken or any(fault.group == place for fault in found.faults)


def _kind_for(group: Group) -> str:
    return "999" if "X" in group.facts.get("version", "")[6:] else "997"


def _for_answers(envelope: Envelope) -> Envelope:
    """Numbered anew in each group, and never asking for an answer itself."""
    facts = {**envelope.facts, "set_numbers": "group", "functional_group": ACKNOWLEDGEMENTS, "acknowledgment": "0"}
    return Envelope(sender=envelope.sender, receiver=envelope.receiver, at_us=envelope.at_us, facts=facts)


def _about_interchange(found: Split, taken: bool) -> list[str]:
    faults = _faults(found)
    codes = [INTERCHANGE_CODES[fault.code] for fault in faults if fault.code in INTERCHANGE_CODES]
    code = codes[0] if codes else "000" if taken else UNUSABLE_CONTENT
    facts = found.facts
    return [found.reference, facts["date"], facts["time"], _status(taken, faults), code]


def _written(found: Split, place: int, kind: str, marks: Delimiters, taken: bool) -> bytes:
    """One 997 or 999, as a ready set."""
    group = found.groups[place]
    members = [(number, member) for number, member in enumerate(found.members) if member.group == place]
    faults = _faults(found, place)
    faulty = {fault.member for fault in found.faults if fault.group == place and fault.member >= 0}
    segments = [["AK1", group.kind, group.reference, *_version_of(group, kind)]]
    for number, member in members:
        if taken or number in faulty:
            segments += _about_set(member, _faults(found, place, number), kind, taken)
    received = len(members)
    counts = (group.facts.get("included", str(received)), str(received), str(received if taken else 0))
    codes = _codes(GROUP_CODES, faults)
    segments.append(["AK9", _status(taken, [*faults, *faulty]), *counts, *codes])
    return _as_set(kind, segments, marks)


def _about_set(member: Member, faults: Sequence[Fault], kind: str, taken: bool) -> list[list[str]]:
    implementation = member.facts.get("implementation", "")
    named = ["AK2", member.kind, member.reference, *([implementation] if implementation and kind == "999" else [])]
    verdict = "IK5" if kind == "999" else "AK5"
    return [named, [verdict, _status(taken, faults), *_codes(SET_CODES, faults)]]


def _as_set(kind: str, segments: Sequence[Sequence[str]], marks: Delimiters) -> bytes:
    """The set's number is given by the assembler; the count is right already."""
    # Of 999 there is one guide only, and its number is part of every header.
    guide = ["005010X231A1"] if kind == "999" else []
    every = [["ST", kind, "0001", *guide], *segments, ["SE", str(len(segments) + 2), "0001"]]
    return b"".join(_segment(marks, one) for one in every)


def _segment(marks: Delimiters, elements: Sequence[str]) -> bytes:
    """What the partner wrote is repeated without anything that would end an element here."""
    return segment(marks, *(_harmless(element.encode(), marks) for element in elements))


def _harmless(element: bytes, marks: Delimiters) -> bytes:
    for role in marks.roles():
        element = element.replace(role, b"")
    return element.translate(None, _CONTROLS)


def _version_of(group: Group, kind: str) -> list[str]:
    version = group.facts.get("version", "")
    return [version] if kind == "999" or version >= _WITH_VERSION_SINCE else []


def _faults(found: Split, group: int = -1, member: int = -1) -> list[Fault]:
    """Those about this group or member itself, and not about what is in it."""
    return [fault for fault in found.faults if fault.group == group and fault.member == member]


def _status(taken: bool, wrong: Sequence[object]) -> str:
    """Accepted, accepted with errors noted, or rejected."""
    if not taken:
        return "R"
    return "E" if wrong else "A"


def _codes(table: dict[str, str], faults: Sequence[Fault]) -> list[str]:
    return [table[fault.code] for fault in faults if fault.code in table][:_MOST_CODES]
