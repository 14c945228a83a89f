"""The segments around a batch: ISA and IEA, GS and GE.

What an envelope's facts may say, each with what is taken where they do not:

    version ISA12 (00401) · release GS08 (as the version) · usage ISA15, P or T (P) · acknowledgment ISA14, 0 or 1 (0)
    sender_qualifier ISA05, receiver_qualifier ISA07 (ZZ) · application_sender GS02, application_receiver GS03 (as in ISA)
    functional_group GS01 (by the set's number) · agency GS07 (X) · utc_offset_minutes (0)
    element, component, terminator, repetition, line_end (* : ~ ^ and nothing) · charset of the delimiters (utf-8)
    authorization_qualifier, authorization, security_qualifier, security ISA01 to ISA04 (00, blank)

Rule: no value may have a delimiter in it or be longer than its element; it is refused, never cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from postroad.core.interchange.assembly_errors import moment_of, unfit_value
from postroad.core.interchange.model import Envelope, InterchangeGroup, Split
from postroad.core.interchange.x12.delimiters import ISA_WIDTHS, REPEATS_SINCE, X12Delimiters, delimiters_of

HIGHEST_NUMBER = 999_999_999
_DATES_OF_EIGHT_SINCE = "004010"
_ISA_NAMES = (
    ("authorization_qualifier", "00"),
    ("authorization", ""),
    ("security_qualifier", "00"),
    ("security", ""),
    ("sender_qualifier", "ZZ"),
    ("sender", ""),
    ("receiver_qualifier", "ZZ"),
    ("receiver", ""),
)
_GS_WIDTHS = {"functional_group": 2, "application_sender": 15, "application_receiver": 15, "agency": 2, "release": 12}
_SWAPPED = {"sender_qualifier": "receiver_qualifier", "receiver_qualifier": "sender_qualifier"}
_KEPT = ("version", "usage", "element", "component", "terminator", "repetition", "line_end", "charset")


class GroupKey(NamedTuple):
    """What all sets of one functional group have in common."""

    kind: str  # GS01
    sender: str  # GS02
    receiver: str  # GS03
    version: str  # GS08


def key_of_group(group: InterchangeGroup) -> GroupKey:
    facts = group.facts
    return GroupKey(kind=group.kind, sender=facts["sender"], receiver=facts["receiver"], version=facts["version"])


def version_of(envelope: Envelope) -> str:
    return envelope.options.get("version", "00401")


def release_of(envelope: Envelope) -> str:
    return envelope.options.get("release", version_of(envelope) + "0")


def marks_of(envelope: Envelope) -> X12Delimiters:
    """The delimiters that the envelope asks for; no repetitions in versions that have none."""
    version = version_of(envelope)
    marks = delimiters_of({"version": version, **envelope.options})
    single = all(len(role.decode("utf-8", "replace")) == 1 for role in marks.roles())
    if not single or len(set(marks.roles())) < len(marks.roles()) or any(role.isalnum() for role in marks.roles()):
        raise unfit_value("delimiters", "each of them must be a different character, and not a letter or digit")
    return marks if version >= REPEATS_SINCE else without_repetition(marks)


def without_repetition(marks: X12Delimiters) -> X12Delimiters:
    if not marks.repetition:
        return marks  # the same object, by which sets in the same delimiters are known at once
    return X12Delimiters(
        element=marks.element, component=marks.component, terminator=marks.terminator, line_end=marks.line_end
    )


def answering(found: Split, at_us: int, facts: Mapping[str, str] | None = None) -> Envelope:
    """Return the envelope of a reply: the same delimiters and version, with sender and receiver swapped."""
    told = {name: found.facts[name] for name in _KEPT if name in found.facts}
    if any(fault.code == "x12.delimiters" for fault in found.faults):
        told = {"version": told["version"], "usage": told["usage"]}  # in those nothing can be said
    told |= {name: found.facts.get(other, "ZZ") for name, other in _SWAPPED.items()}
    for group in found.groups[:1]:
        told |= {"application_sender": group.facts["receiver"], "application_receiver": group.facts["sender"]}
        told |= {"release": group.facts["version"][:6]} if group.facts["version"] else {}
    return Envelope(sender=found.receiver, receiver=found.sender, at_us=at_us, options=told | dict(facts or {}))


def write_opening(envelope: Envelope, number: int, marks: X12Delimiters) -> bytes:
    """ISA, every element filled up to its width."""
    given = {"sender": envelope.sender, "receiver": envelope.receiver, **envelope.options}
    moment = moment_of(envelope)
    values = [(name, given.get(name, default)) for name, default in _ISA_NAMES]
    values += [("date", f"{moment:%y%m%d}"), ("time", f"{moment:%H%M}"), ("repetition", "U")]
    values += [("version", version_of(envelope)), ("number", f"{check_number(number):09d}")]
    values += [("acknowledgment", given.get("acknowledgment", "0")), ("usage", given.get("usage", "P"))]
    elements = [
        _value(name, text, width, marks) + b" " * (width - len(text))
        for (name, text), width in zip(values, ISA_WIDTHS, strict=False)
    ]
    elements[10] = marks.repetition or elements[10]
    return write_segment(marks, b"ISA", *elements, marks.component)


def write_group_opening(envelope: Envelope, key: GroupKey, number: int, marks: X12Delimiters) -> bytes:
    moment, agency = moment_of(envelope), envelope.options.get("agency", "X")
    named = zip(_GS_WIDTHS, (key.kind, key.sender, key.receiver, agency, key.version), strict=True)
    kind, sender, receiver, agent, version = (_value(name, text, _GS_WIDTHS[name], marks) for name, text in named)
    date = f"{moment:%Y%m%d}" if key.version >= _DATES_OF_EIGHT_SINCE else f"{moment:%y%m%d}"
    when = (date.encode(), f"{moment:%H%M}".encode())
    return write_segment(marks, b"GS", kind, sender, receiver, *when, b"%d" % check_number(number), agent, version)


def write_segment(marks: X12Delimiters, *elements: bytes) -> bytes:
    return marks.element.join(elements) + marks.terminator + marks.line_end


def check_number(number: int) -> int:
    if not 0 < number <= HIGHEST_NUMBER:
        raise unfit_value("number", f"control numbers must be from 1 to {HIGHEST_NUMBER}; {number} is not valid")
    return number


def write_time(envelope: Envelope) -> tuple[str, str]:
    """ISA09 and ISA10, by which an interchange is known to the partner beside its number."""
    moment = moment_of(envelope)
    return f"{moment:%y%m%d}", f"{moment:%H%M}"


def _value(name: str, text: str, width: int, marks: X12Delimiters) -> bytes:
    raw = text.encode()
    if len(text) > width:
        raise unfit_value(name, f"{text!r} is longer than the {width} characters that X12 allows")
    if not text.isprintable() or any(role in raw for role in marks.roles()):
        raise unfit_value(name, f"{text!r} has a delimiter or a control character in it")
    return raw


FUNCTIONAL_GROUPS: dict[str, str] = {
    # orders
    "832": "SC", "840": "RQ", "843": "RR", "846": "IB", "850": "PO", "855": "PR", "860": "PC", "865": "CA", "869": "RS",
    "870": "RS", "875": "OG", "830": "PS", "862": "SS", "866": "SQ", "852": "PD", "867": "PT", "816": "OR", "180": "AN",
    # shipping and receiving
    "856": "SH", "857": "BS", "858": "SI", "861": "RC", "863": "RT", "940": "OW", "943": "AR", "944": "RE",
    "945": "SW", "204": "SM", "210": "IM", "214": "QM", "990": "GF", "110": "IA", "417": "WB", "315": "QO",
    # money
    "810": "IN", "811": "CI", "812": "CD", "820": "RA", "821": "FR", "823": "LB", "880": "GP",
    # health care
    "270": "HS", "271": "HB", "275": "PI", "276": "HR", "277": "HN", "278": "HI", "834": "BE", "835": "HP", "837": "HC",
    # about other messages
    "824": "AG", "864": "TX", "997": "FA", "999": "FA",
}  # fmt: skip
