"""Writes CONTRL for a received interchange: UCI for the interchange, UCF and UCM for errors.

Rules: CONTRL is never answered with CONTRL. Only envelopes are checked, so nothing is claimed about the contents of
messages. What is not named has the status of what contains it, as the standard defines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from postroad.core.interchange.edifact.acknowledgement_codes import CODES, UNSPECIFIED
from postroad.core.interchange.edifact.assembler import assemble
from postroad.core.interchange.edifact.charsets import charset_of
from postroad.core.interchange.edifact.delimiters import EdifactDelimiters
from postroad.core.interchange.edifact.envelopes import marks_of, syntax_of, version_of
from postroad.core.interchange.edifact.segments import Components, write_segment
from postroad.core.interchange.nouns import Envelope, InterchangeFault, Numbers, Split

CONTRL = "CONTRL"
_REJECTED, _ACKNOWLEDGED = "4", "7"  # 0083: this level and all below; this level, and below what is not rejected


def acknowledge(
    found: Split, envelope: Envelope, numbers: Numbers, *, taken: bool = True, rejected: Collection[int] = ()
) -> Iterator[bytes]:
    """Return the interchange to send back; None if none was requested and there are no errors.

    ``rejected`` are the positions of members that were rejected although the others were accepted.
    """
    asked = found.facts.get("acknowledgment") == "1"
    only_answers = bool(found.members) and all(one.kind == CONTRL for one in found.members)
    if only_answers or not (asked or found.faults or rejected or not taken):
        return
    told = _Telling(found, envelope, taken, rejected).message()
    own = replace(envelope, options={**envelope.options, "acknowledgment": "", "groups": "0", "message_numbers": "own"})
    yield from assemble([told], own, numbers)


class _Telling:
    """An interchange with its faults where they belong."""

    def __init__(self, found: Split, envelope: Envelope, taken: bool, rejected: Collection[int]) -> None:
        self._found, self._marks, self._envelope = found, marks_of(envelope), envelope
        self._taken = taken and not any(fault.fatal for fault in found.faults)
        self._rejected = frozenset(rejected)
        self._faults: dict[tuple[int, int], list[InterchangeFault]] = {}
        for fault in found.faults:
            group = -1 if fault.member >= 0 else fault.group
            self._faults.setdefault((group, fault.member), []).append(fault)

    def message(self) -> bytes:
        version = ["4", "1"] if version_of(self._envelope) == "4" else ["D", "3"]
        segments = [self._about_all(), *self._about_members()]
        head = self._segment("UNH", "1", [CONTRL, *version, "UN"])
        tail = self._segment("UNT", str(len(segments) + 2), "1")
        return b"".join([head, *segments, tail])

    def _about_all(self) -> bytes:
        found, facts = self._found, self._found.facts
        parties = [
            [name, facts.get(f"{side}_qualifier", "")]
            for side, name in (("sender", found.sender), ("receiver", found.receiver))
        ]
        return self._segment("UCI", found.reference, *parties, *self._verdict(self._taken, -1, -1))

    def _about_members(self) -> Iterator[bytes]:
        """Groups and messages of which there is something to tell, each message behind its group."""
        told = sorted({place for _, place in self._faults if place >= 0} | self._rejected)
        by_group: dict[int, list[int]] = {group: [] for group, member in self._faults if group >= 0 and member < 0}
        for place in told:
            by_group.setdefault(self._found.members[place].group, []).append(place)
        for group in sorted(by_group):
            if self._found.groups[group].kind:
                yield self._about_group(group)
            for place in by_group[group]:
                yield self._about_member(place)

    def _about_group(self, place: int) -> bytes:
        group = self._found.groups[place]
        parties = [[group.facts[side], group.facts[f"{side}_qualifier"]] for side in ("sender", "receiver")]
        return self._segment("UCF", group.reference, *parties, *self._verdict(self._taken, place, -1))

    def _about_member(self, place: int) -> bytes:
        member = self._found.members[place]
        version = [member.facts.get(name, "") for name in ("version", "release", "agency", "association")]
        verdict = self._verdict(self._taken and place not in self._rejected, -1, place)
        return self._segment("UCM", member.reference, [member.kind, *version], *verdict)

    def _verdict(self, taken: bool, group: int, member: int) -> list[str]:
        """Action, and the first of the reasons: there is room for one."""
        faults = self._faults.get((group, member), [])
        codes = [CODES.get(fault.code, UNSPECIFIED) for fault in faults]
        if not taken:
            return [_REJECTED, *(codes[:1] or [UNSPECIFIED])]
        return [_ACKNOWLEDGED, *codes[:1]]

    def _segment(self, tag: str, *elements: Components | str) -> bytes:
        return _harmless_segment(self._marks, charset_of(syntax_of(self._envelope)), tag, elements)


def _harmless_segment(marks: EdifactDelimiters, charset: str, tag: str, elements: Sequence[Components | str]) -> bytes:
    """What the partner wrote is repeated without control characters, and without what could not be released."""
    unsayable = "" if marks.release else str(marks.special(), "latin-1")
    clean = [[_harmless(one, unsayable) for one in ([el] if isinstance(el, str) else el)] for el in elements]
    return write_segment(replace(marks, line_end=b""), tag, *clean, charset=charset)


def _harmless(text: str, unsayable: str) -> str:
    return "".join(one for one in text if one.isprintable() and one not in unsayable)
