"""Writes and reads CONTRL: acknowledgments of received interchanges, and partners' acknowledgments of sent ones.

Rules: CONTRL is never answered with CONTRL. Only envelopes are checked, so nothing is claimed about the contents of
messages. A group or message that is not named has the status of what contains it, as the standard defines. An
acknowledgment without a verdict is refused; unknown codes are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from postroad.core.interchange.edifact.assembler import assemble
from postroad.core.interchange.edifact.charsets import charset_of
from postroad.core.interchange.edifact.delimiters import BLANKS, EdifactDelimiters, delimiters_of
from postroad.core.interchange.edifact.envelopes import marks_of, syntax_of, version_of
from postroad.core.interchange.edifact.segments import Components, elements_of, find_component, parts_of, write_segment
from postroad.core.interchange.model import Envelope, InterchangeFault, Member, Numbers, PartnerStatus, Split
from postroad.errors import Refused

CODES: dict[str, str] = {
    "edifact.unb": "12",
    "edifact.una": "22",
    "edifact.delimiters": "22",
    "edifact.charset": "21",
    "edifact.structure": "13",
    "edifact.truncated": "13",
    "edifact.stray": "33",
    "edifact.trailing": "33",
    "edifact.mixed": "30",
    "edifact.duplicate": "26",
    "edifact.repeated": "26",  # found by the splitter, which remembers earlier interchanges
    "edifact.control": "28",
    "edifact.count": "29",
    "edifact.unsupported": "14",  # found by the recipient, which knows the supported messages
}
UNSPECIFIED = "18"
WORDS: dict[str, str] = {
    "2": "the syntax version or level is not supported",
    "7": "the recipient of the interchange is not the actual one",
    "12": "a value is invalid",
    "13": "something is missing",
    "14": "a value is not supported here",
    "15": "something is not supported here",
    "16": "there are too many parts",
    "17": "there is no agreement with the partner",
    "18": "an unspecified error",
    "19": "the decimal mark is invalid",
    "20": "a character is invalid as a service character",
    "21": "a character is invalid",
    "22": "a service character is invalid",
    "23": "the sender is unknown",
    "24": "it is too old",
    "25": "the test indicator is not supported",
    "26": "it is a duplicate",
    "27": "the security function is not supported",
    "28": "the references of header and trailer do not match",
    "29": "the control count does not match",
    "30": "groups and messages are mixed",
    "31": "there is more than one kind of message in a group",
    "32": "the level below is empty",
    "33": "there is something outside of a message or a group",
    "34": "the nesting indicator is not allowed",
    "35": "a segment is repeated too often",
    "36": "a segment group is repeated too often",
    "37": "characters are of the wrong type",
    "38": "a digit is missing before the decimal mark",
    "39": "an element is too long",
    "40": "an element is too short",
}


_ACTIONS = {"4": PartnerStatus.REJECTED, "7": PartnerStatus.ACCEPTED, "8": PartnerStatus.RECEIVED}
_REFERENCE_AT, _ACTION_AT = 1, {"UCI": 4, "UCF": 4, "UCM": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrlResult:
    """The status of one interchange, group or message."""

    reference: str
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # segments and elements in error (UCS, UCD), as the partner wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrlMessage:
    """One CONTRL message."""

    interchange: ContrlResult
    groups: tuple[ContrlResult, ...] = ()
    messages: tuple[tuple[str, ContrlResult], ...] = ()  # each with the reference of its group, or nothing


def read_answers(found: Split) -> tuple[ContrlMessage, ...]:
    """Read every CONTRL in an interchange; other messages are ignored."""
    return tuple(_answer(member, found) for member in found.members if member.kind == "CONTRL")


def _answer(member: Member, found: Split) -> ContrlMessage:
    groups: list[ContrlResult] = []
    messages: list[tuple[str, ContrlResult]] = []
    whole: ContrlResult | None = None
    for one in _blocks(member, found):
        told, tag = _read_result(one), find_component(one[0], 0)
        if tag == "UCI":
            whole = told
        elif tag == "UCF":
            groups.append(told)
        else:
            messages.append((groups[-1].reference if groups else "", told))
    if whole is None:
        raise Refused("interchange.malformed", f"CONTRL {member.reference} has no UCI")
    return ContrlMessage(interchange=whole, groups=tuple(groups), messages=tuple(messages))


def _blocks(member: Member, found: Split) -> list[list[Sequence[Sequence[str]]]]:
    """Return UCI, UCF and UCM, each with its UCS and UCD."""
    marks = delimiters_of(found.facts)
    blocks: list[list[Sequence[Sequence[str]]]] = []
    for raw in parts_of(bytes(member.data), marks.terminator, marks.release):
        elements = elements_of(raw.strip(BLANKS), marks)
        tag = find_component(elements, 0)
        if tag in _ACTION_AT:
            blocks.append([elements])
        elif tag in ("UCS", "UCD") and blocks:
            blocks[-1].append(elements)
    return blocks


def _read_result(block: Sequence[Sequence[Sequence[str]]]) -> ContrlResult:
    head = block[0]
    tag = find_component(head, 0)
    action, code = find_component(head, _ACTION_AT[tag]), find_component(head, _ACTION_AT[tag] + 1)
    verdict = _ACTIONS.get(action)
    if verdict is None:
        raise Refused("interchange.malformed", f"{tag} has {action!r}, which is not a valid status")
    notes = tuple("+".join(":".join(one) for one in line) for line in block[1:])
    if verdict is PartnerStatus.ACCEPTED and (code or notes):
        verdict = PartnerStatus.NOTED
    reasons = (WORDS.get(code, f"code {code}"),) if code else ()
    return ContrlResult(reference=find_component(head, _REFERENCE_AT), verdict=verdict, reasons=reasons, notes=notes)


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
    """An interchange with its errors by group and message."""

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
        """Yield a segment for each group and message with an error, each message after its group."""
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
        """Return the action and the first reason, because CONTRL has space for only one."""
        faults = self._faults.get((group, member), [])
        codes = [CODES.get(fault.code, UNSPECIFIED) for fault in faults]
        if not taken:
            return [_REJECTED, *(codes[:1] or [UNSPECIFIED])]
        return [_ACKNOWLEDGED, *codes[:1]]

    def _segment(self, tag: str, *elements: Components | str) -> bytes:
        return _harmless_segment(self._marks, charset_of(syntax_of(self._envelope)), tag, elements)


def _harmless_segment(marks: EdifactDelimiters, charset: str, tag: str, elements: Sequence[Components | str]) -> bytes:
    """Return the partner's segment without control characters, and without characters that cannot be escaped."""
    unsayable = "" if marks.release else str(marks.special(), "latin-1")
    clean = [[_harmless(one, unsayable) for one in ([el] if isinstance(el, str) else el)] for el in elements]
    return write_segment(replace(marks, line_end=b""), tag, *clean, charset=charset)


def _harmless(text: str, unsayable: str) -> str:
    return "".join(one for one in text if one.isprintable() and one not in unsayable)
