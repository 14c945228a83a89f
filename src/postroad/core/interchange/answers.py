"""What partners say of what they were sent, in the same words for every standard, and matched to what was sent.

    of_x12, of_edifact, of_hl7, of_swift   an interchange that came → what it says: TA1, 997, 999, CONTRL, ACK, F21
    matched                                what was said, and what was sent → what became of each document

Kept rules: something said is matched by the names that it uses and by nothing else. A rejection of what a document is in is its
own; a document of which nothing is said shares the fate of what it is in. What names nothing that was sent is told, not dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from postroad.core.interchange import edifact, hl7, swift, x12
from postroad.core.interchange.nouns import Member, Split, Verdict
from postroad.core.model.interchange import Filed


class Scope(StrEnum):
    """Of what something is said."""

    INTERCHANGE = "interchange"
    GROUP = "group"
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing that a partner says; names that it does not use are empty."""

    scope: Scope
    verdict: Verdict
    interchange: str = ""
    group: str = ""
    kind: str = ""  # of the document
    reference: str = ""  # of the document
    facts: Mapping[str, str] = field(default_factory=dict)  # what else must agree: date, time, kind of the group
    reasons: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """What it calls the document; empty where it names none."""
        return self.reference or self.facts.get("user_reference", "")

    @property
    def named(self) -> str:
        """For people: what it is about."""
        names = (self.interchange, self.group, self.kind, self.document)
        return f"{self.scope} {' '.join(name for name in names if name)}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """What became of one document, as the partner says."""

    filed: Filed
    verdict: Verdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    became: tuple[Became, ...]
    unmatched: tuple[Said, ...] = ()


# ---- reading ---------------------------------------------------------------------------------------------------------


def of_x12(found: Split) -> tuple[Said, ...]:
    return tuple(_said_in_x12(x12.read_answers(found)))


def _said_in_x12(told: x12.Answers) -> Iterator[Said]:
    for ta1 in told.interchanges:
        # It speaks of the envelope alone: what is in it was received, and 997 or 999 will tell more.
        rejected = ta1.verdict is Verdict.REJECTED
        yield Said(
            scope=Scope.INTERCHANGE,
            verdict=Verdict.REJECTED if rejected else Verdict.RECEIVED,
            interchange=ta1.number,
            facts={"date": ta1.date, "time": ta1.time},
            reasons=() if ta1.verdict is Verdict.ACCEPTED else (ta1.reason,),
        )
    for group in told.groups:
        names = {"group_kind": group.kind}
        yield Said(scope=Scope.GROUP, verdict=group.verdict, group=group.number, facts=names, reasons=group.reasons)
        for one in group.sets:
            yield Said(
                scope=Scope.MEMBER,
                verdict=one.verdict,
                group=group.number,
                kind=one.kind,
                reference=one.reference,
                facts=names,
                reasons=(*one.reasons, *one.notes),
            )


def of_edifact(found: Split) -> tuple[Said, ...]:
    return tuple(said for answer in edifact.read_answers(found) for said in _said_in_contrl(answer))


def _said_in_contrl(answer: edifact.Answer) -> Iterator[Said]:
    whole = answer.interchange
    reasons = (*whole.reasons, *whole.notes)
    yield Said(scope=Scope.INTERCHANGE, verdict=whole.verdict, interchange=whole.reference, reasons=reasons)
    for group in answer.groups:
        yield Said(
            scope=Scope.GROUP,
            verdict=group.verdict,
            interchange=whole.reference,
            group=group.reference,
            reasons=(*group.reasons, *group.notes),
        )
    for in_group, one in answer.messages:
        yield Said(
            scope=Scope.MEMBER,
            verdict=one.verdict,
            interchange=whole.reference,
            group=in_group,
            reference=one.reference,
            reasons=(*one.reasons, *one.notes),
        )


def of_hl7(found: Split) -> tuple[Said, ...]:
    return tuple(
        Said(scope=Scope.MEMBER, verdict=one.verdict, reference=one.reference, reasons=(*one.reasons, *one.notes))
        for one in hl7.read_answers(found)
    )


def of_swift(found: Split) -> tuple[Said, ...]:
    return tuple(
        Said(
            scope=Scope.MEMBER,
            verdict=Verdict.ACCEPTED if one.accepted else Verdict.REJECTED,
            reference="" if one.user_reference else one.reference,
            facts={"user_reference": one.user_reference} if one.user_reference else {},
            reasons=(one.reason,) if one.reason else (),
        )
        for one in swift.read_answers(found)
    )


def is_x12_answer(member: Member) -> bool:
    return member.kind in ("997", "999")


def is_edifact_answer(member: Member) -> bool:
    return member.kind == "CONTRL"


def is_hl7_answer(member: Member) -> bool:
    """An acknowledgement and nothing more; other answers (ORR, RSP …) bring results too, and are documents."""
    return member.kind[:3] == "ACK"


def is_swift_answer(member: Member) -> bool:
    return "acknowledged" in member.facts


# ---- matching --------------------------------------------------------------------------------------------------------

_Names = tuple[object, ...]
_FACTS = ("date", "time", "group_kind", "user_reference")
_DRAWN = frozenset(("interchange", "group"))  # numbers that are drawn, and therefore stand for one interchange
_OF_ITS_PARTS = {
    Verdict.PARTLY: Verdict.ACCEPTED,
    Verdict.NOTED: Verdict.ACCEPTED,
}  # what names no part of it, accepts it


# What says not which one it is about, is about none: of these names one may be as good as any other.
_NAMED: dict[Scope, Callable[[Said], str]] = {
    Scope.INTERCHANGE: lambda one: one.interchange,
    Scope.GROUP: lambda one: one.group,
    Scope.MEMBER: lambda one: one.document,
}


def matched(said: Iterable[Said], filed: Iterable[Filed]) -> Matched:
    """What became of each document of which something was said, directly or through what it is in.

    Of two things that are said of the same, the later counts: received, then accepted. What names nothing but a document is
    about the first of that name, so whoever asks gives the newest interchange first.
    """
    told: dict[_Names, Said] = {}
    nameless: list[Said] = []
    for one in said:
        if _NAMED[one.scope](one):
            told[_names_of(one)] = one
        else:
            nameless.append(one)
    shapes = sorted({_shape(one) for one in told.values()})
    unmatched, became = dict(told), []
    for document in filed:
        about: list[Said] = []
        facts = dict(document.facts)
        for scope, used in shapes:
            names = _names_as(document, facts, scope, used)
            if names in told and (names in unmatched or not _DRAWN.isdisjoint(used)):
                unmatched.pop(names, None)
                about.append(told[names])
        if about:
            became.append(_became(document, about))
    return Matched(became=tuple(became), unmatched=(*unmatched.values(), *nameless))


def _became(document: Filed, about: list[Said]) -> Became:
    """``about`` has what is said of the interchange first, and what is said of the document itself last."""
    about.sort(key=lambda one: _ORDER[one.scope])
    against = [one for one in about if one.verdict is Verdict.REJECTED]
    last = about[-1]
    verdict = last.verdict if last.scope is Scope.MEMBER else _OF_ITS_PARTS.get(last.verdict, last.verdict)
    reasons = tuple(reason for one in (against or about) for reason in one.reasons)
    return Became(filed=document, verdict=Verdict.REJECTED if against else verdict, reasons=reasons)


_ORDER = {Scope.INTERCHANGE: 0, Scope.GROUP: 1, Scope.MEMBER: 2}
_Shape = tuple[Scope, tuple[str, ...]]


def _shape(one: Said) -> _Shape:
    """The names that it uses: by these a document is asked for its own."""
    names = ("interchange", "group", "kind", "reference")
    return one.scope, (*(name for name in names if getattr(one, name)), *(name for name in _FACTS if name in one.facts))


def _names_of(one: Said) -> _Names:
    scope, used = _shape(one)
    return scope, *[(name, same_name(one.facts.get(name, "") or str(getattr(one, name, "")))) for name in used]


def _names_as(document: Filed, facts: Mapping[str, str], scope: Scope, used: tuple[str, ...]) -> _Names:
    return scope, *[(name, same_name(facts.get(name, "") or str(getattr(document, name, "")))) for name in used]


def same_name(name: str) -> str:
    """The form in which names are compared: numbers are the same with and without leading zeros."""
    text = name.strip()
    return text.lstrip("0") or "0" if text.isdecimal() else text
