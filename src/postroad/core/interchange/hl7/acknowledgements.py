"""Writes and reads ACK messages, for received and for sent messages.

    original mode    MSH-15 and MSH-16 are empty: AA, AE or AR for every message
    enhanced mode    MSH-15 specifies when: CA, CE or CR always (AL), never (NE), on error (ER), on success (SU)

Rules: an acknowledgment (a message with MSA) is never acknowledged. AA and CA mean accepted, so they are written after
the message is durable. An acknowledgment names a message only by MSA-2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from postroad.core.interchange.hl7.assembler import assemble, marks_of, write_party, write_time
from postroad.core.interchange.hl7.messages import normalize_segments
from postroad.core.interchange.hl7.separators import Separators, escape_text, fields_of, read_separators, text_of
from postroad.core.interchange.model import Envelope, Member, Numbers, PartnerStatus, Split
from postroad.errors import Refused

_VERDICTS = {"AA": PartnerStatus.ACCEPTED, "CA": PartnerStatus.RECEIVED}
_VERDICTS |= dict.fromkeys(("AE", "AR", "CE", "CR"), PartnerStatus.REJECTED)
_WISHES = {"AL": (True, True), "NE": (False, False), "ER": (False, True), "SU": (True, False)}  # accepted, rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Hl7Acknowledgement:
    """The status of one message."""

    reference: str  # MSA-2
    code: str  # MSA-1
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()  # MSA-3
    notes: tuple[str, ...] = ()  # ERR, as the partner wrote it


# ---- writing ---------------------------------------------------------------------------------------------------------


def answering(found: Split, at_us: int, facts: Mapping[str, str] | None = None) -> Envelope:
    """Return the envelope of a reply: the same separators, with sender and receiver swapped."""
    told = {name: found.facts[name] for name in Separators().facts()}
    if any(fault.code == "hl7.separators" for fault in found.faults):
        told = {}
    told |= {"sender_facility": found.facts["receiver_facility"], "receiver_facility": found.facts["sender_facility"]}
    told |= {"answered": found.reference, "file": "0"}
    return Envelope(sender=found.receiver, receiver=found.sender, at_us=at_us, options=told | dict(facts or {}))


def acknowledge(
    found: Split, envelope: Envelope, numbers: Numbers, *, taken: bool = True, rejected: Collection[int] = ()
) -> Iterator[bytes]:
    """Yield the ACK of every message that requests one: single for a single message, in a batch for a batch.

    ``rejected`` are positions of members that were rejected although the others were accepted."""
    whole, not_taken = taken and not any(fault.fatal for fault in found.faults), frozenset(rejected)
    reasons = {fault.member: fault.text for fault in found.faults if fault.member >= 0}
    marks, answers = marks_of(envelope), []
    for place, member in enumerate(found.members):
        is_taken = whole and place not in not_taken
        if _wants(member, is_taken):
            reason = reasons.get(place, "" if is_taken else "not taken")
            answers.append(_ack(member, envelope, marks, numbers.next("member"), _code(member, is_taken), reason))
    if len(answers) == 1 and found.facts["batch"] == "0":
        yield answers[0]
    elif answers:
        yield from assemble(answers, replace(envelope, options={**envelope.options, "file": "0"}), numbers)


def _wants(member: Member, taken: bool) -> bool:
    if not member.reference or is_answer(member):
        return False
    accept = member.facts["accept_acknowledgment"]
    if not accept:
        return True if not member.facts["application_acknowledgment"] else not taken
    return _WISHES.get(accept, (True, True))[0 if taken else 1]


def is_answer(member: Member) -> bool:
    return bool(_segments(member, "MSA"))


def _code(member: Member, taken: bool) -> str:
    enhanced = member.facts["accept_acknowledgment"] or member.facts["application_acknowledgment"]
    return ("C" if enhanced else "A") + ("A" if taken else "E")


def _ack(member: Member, envelope: Envelope, marks: Separators, number: int, code: str, reason: str) -> bytes:
    facts, event = member.facts, _components(member)
    parties = (facts["receiver"], facts["receiver_facility"], facts["sender"], facts["sender_facility"])
    kind = marks.component.join([b"ACK", *(escape_text(one, marks) for one in event[1:2] if one)])
    head = [b"MSH", marks.encoding(), *(write_party(_usual(one, facts), marks) for one in parties)]
    head += [write_time(envelope).encode(), b"", kind, b"A%d" % number]
    head += [escape_text(facts[name], marks) for name in ("processing", "version")]
    told = [b"MSA", code.encode(), escape_text(member.reference, marks), escape_text(reason, marks)]
    return b"".join(marks.field.join(one).rstrip(marks.field) + b"\r" for one in (head, told))


def _usual(text: str, facts: Mapping[str, str]) -> str:
    """Return a party's components, as ``party`` reads them."""
    return text.replace(facts["separators"][1], "^")


def _components(member: Member) -> list[str]:
    return member.kind.split(member.facts["separators"][1])


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_answers(found: Split) -> tuple[Hl7Acknowledgement, ...]:
    """Return every response among the messages, ACK or other (ORR, RSP …); other messages are skipped."""
    return tuple(_answer(member) for member in found.members if is_answer(member))


def _answer(member: Member) -> Hl7Acknowledgement:
    told = _segments(member, "MSA")[0]
    code, reference, reason = (text_of(one) for one in told[1:4])
    verdict = _VERDICTS.get(code)
    if verdict is None:
        raise Refused("interchange.malformed", f"MSA of {member.reference} has {code!r}, which is not a valid status")
    notes = tuple(text_of(b"|".join(one).rstrip(b"|")) for one in _segments(member, "ERR"))
    return Hl7Acknowledgement(
        reference=reference, code=code, verdict=verdict, reasons=(reason,) if reason else (), notes=notes
    )


def _segments(member: Member, tag: str) -> list[list[bytes]]:
    raw = bytes(member.data)
    if tag.encode() not in raw:
        return []
    marks = read_separators(raw, 0)
    lines = normalize_segments(raw, marks).split(b"\r")
    return [fields_of(one, marks, 4) for one in lines if one.startswith(tag.encode() + marks.field)]
