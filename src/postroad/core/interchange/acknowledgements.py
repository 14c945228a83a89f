"""Functional acknowledgments of every standard in one vocabulary, matched to what was sent.

    read_x12_statuses, read_edifact_statuses, …   a received interchange → its statuses: TA1, 997, 999, CONTRL, ACK, F21
    match_statuses                                statuses and sent documents → the status of each document
    summarize_statuses                            the statuses of one batch → its status, and the documents with another one

Rules: a status is matched only by the names that it uses. A rejected group or interchange rejects its documents; a document
without a status has that of what contains it. Unmatched statuses are reported, not dropped. A status of some documents does
not apply to the others; if only some are named, the rest counts as received.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from postroad.core.interchange import edifact, hl7, swift, x12
from postroad.core.interchange.model import Member, PartnerStatus, Split
from postroad.core.model.interchange import AnsweredMember, DocumentPosition


class StatusScope(StrEnum):
    """What a reported status applies to."""

    INTERCHANGE = "interchange"
    GROUP = "group"
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStatus:
    """One status that a partner reports; identifiers that it does not use are empty."""

    scope: StatusScope
    verdict: PartnerStatus
    interchange: str = ""
    group: str = ""
    kind: str = ""  # of the document
    reference: str = ""  # of the document
    facts: Mapping[str, str] = field(
        default_factory=dict
    )  # other values that must match: date, time, kind of the group
    reasons: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """Return the reference of the document; empty if none is named."""
        return self.reference or self.facts.get("user_reference", "")

    @property
    def named(self) -> str:
        """Return a description of what the status applies to."""
        names = (self.interchange, self.group, self.kind, self.document)
        return f"{self.scope} {' '.join(name for name in names if name)}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStatus:
    """The status of one document, as the partner reports it."""

    filed: DocumentPosition
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedStatuses:
    became: tuple[DocumentStatus, ...]
    unmatched: tuple[ReportedStatus, ...] = ()


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_x12_statuses(found: Split) -> tuple[ReportedStatus, ...]:
    return tuple(_list_x12_statuses(x12.read_answers(found)))


def _list_x12_statuses(told: x12.X12Acknowledgements) -> Iterator[ReportedStatus]:
    for ta1 in told.interchanges:
        # It applies only to the envelope: the content was received, and a 997 or 999 has its status.
        rejected = ta1.verdict is PartnerStatus.REJECTED
        yield ReportedStatus(
            scope=StatusScope.INTERCHANGE,
            verdict=PartnerStatus.REJECTED if rejected else PartnerStatus.RECEIVED,
            interchange=ta1.number,
            facts={"date": ta1.date, "time": ta1.time},
            reasons=() if ta1.verdict is PartnerStatus.ACCEPTED else (ta1.reason,),
        )
    for group in told.groups:
        names = {"group_kind": group.kind}
        yield ReportedStatus(
            scope=StatusScope.GROUP, verdict=group.verdict, group=group.number, facts=names, reasons=group.reasons
        )
        for one in group.sets:
            yield ReportedStatus(
                scope=StatusScope.MEMBER,
                verdict=one.verdict,
                group=group.number,
                kind=one.kind,
                reference=one.reference,
                facts=names,
                reasons=(*one.reasons, *one.notes),
            )


def read_edifact_statuses(found: Split) -> tuple[ReportedStatus, ...]:
    return tuple(said for answer in edifact.read_answers(found) for said in _list_contrl_statuses(answer))


def _list_contrl_statuses(answer: edifact.ContrlMessage) -> Iterator[ReportedStatus]:
    whole = answer.interchange
    reasons = (*whole.reasons, *whole.notes)
    yield ReportedStatus(
        scope=StatusScope.INTERCHANGE, verdict=whole.verdict, interchange=whole.reference, reasons=reasons
    )
    for group in answer.groups:
        yield ReportedStatus(
            scope=StatusScope.GROUP,
            verdict=group.verdict,
            interchange=whole.reference,
            group=group.reference,
            reasons=(*group.reasons, *group.notes),
        )
    for in_group, one in answer.messages:
        yield ReportedStatus(
            scope=StatusScope.MEMBER,
            verdict=one.verdict,
            interchange=whole.reference,
            group=in_group,
            reference=one.reference,
            reasons=(*one.reasons, *one.notes),
        )


def read_hl7_statuses(found: Split) -> tuple[ReportedStatus, ...]:
    return tuple(
        ReportedStatus(
            scope=StatusScope.MEMBER, verdict=one.verdict, reference=one.reference, reasons=(*one.reasons, *one.notes)
        )
        for one in hl7.read_answers(found)
    )


def read_swift_statuses(found: Split) -> tuple[ReportedStatus, ...]:
    return tuple(
        ReportedStatus(
            scope=StatusScope.MEMBER,
            verdict=PartnerStatus.ACCEPTED if one.accepted else PartnerStatus.REJECTED,
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
    """Return True for a pure acknowledgment; other responses (ORR, RSP …) have results too, and are documents."""
    return member.kind[:3] == "ACK"


def is_swift_answer(member: Member) -> bool:
    return "acknowledged" in member.facts


# ---- matching --------------------------------------------------------------------------------------------------------

_Names = tuple[object, ...]
_FACTS = ("date", "time", "group_kind", "user_reference")
_DRAWN = frozenset(("interchange", "group"))  # drawn numbers, which identify one interchange
_OF_ITS_PARTS = {
    PartnerStatus.PARTLY: PartnerStatus.ACCEPTED,
    PartnerStatus.NOTED: PartnerStatus.ACCEPTED,
}  # documents that are not named themselves are accepted


# The identifier that a status of each scope must have; without it, it could apply to any document and is not matched.
_NAMED: dict[StatusScope, Callable[[ReportedStatus], str]] = {
    StatusScope.INTERCHANGE: lambda one: one.interchange,
    StatusScope.GROUP: lambda one: one.group,
    StatusScope.MEMBER: lambda one: one.document,
}


def match_statuses(said: Iterable[ReportedStatus], filed: Iterable[DocumentPosition]) -> MatchedStatuses:
    """Return the status of each document that is named, directly or through its group or interchange.

    If two statuses name the same document, the later one counts: received, then accepted. A status that names only a
    document applies to the first one with that name, so the caller passes the newest interchange first.
    """
    told: dict[_Names, ReportedStatus] = {}
    nameless: list[ReportedStatus] = []
    for one in said:
        if _NAMED[one.scope](one):
            told[_names_of(one)] = one
        else:
            nameless.append(one)
    shapes = sorted({_shape(one) for one in told.values()})
    unmatched, became = dict(told), []
    for document in filed:
        about: list[ReportedStatus] = []
        facts = dict(document.facts)
        for scope, used in shapes:
            names = _names_as(document, facts, scope, used)
            if names in told and (names in unmatched or not _DRAWN.isdisjoint(used)):
                unmatched.pop(names, None)
                about.append(told[names])
        if about:
            became.append(_became(document, about))
    return MatchedStatuses(became=tuple(became), unmatched=(*unmatched.values(), *nameless))


def _became(document: DocumentPosition, about: list[ReportedStatus]) -> DocumentStatus:
    """Combine the reports about one document; those about the interchange come first, those about the document last."""
    about.sort(key=lambda one: _ORDER[one.scope])
    against = [one for one in about if one.verdict is PartnerStatus.REJECTED]
    last = about[-1]
    verdict = last.verdict if last.scope is StatusScope.MEMBER else _OF_ITS_PARTS.get(last.verdict, last.verdict)
    reasons = tuple(reason for one in (against or about) for reason in one.reasons)
    return DocumentStatus(filed=document, verdict=PartnerStatus.REJECTED if against else verdict, reasons=reasons)


_ORDER = {StatusScope.INTERCHANGE: 0, StatusScope.GROUP: 1, StatusScope.MEMBER: 2}
_Shape = tuple[StatusScope, tuple[str, ...]]


def _shape(one: ReportedStatus) -> _Shape:
    """Return which identifiers the status uses; documents are compared by these."""
    names = ("interchange", "group", "kind", "reference")
    return one.scope, (*(name for name in names if getattr(one, name)), *(name for name in _FACTS if name in one.facts))


def _names_of(one: ReportedStatus) -> _Names:
    scope, used = _shape(one)
    return scope, *[(name, normalize_name(one.facts.get(name, "") or str(getattr(one, name, "")))) for name in used]


def _names_as(
    document: DocumentPosition, facts: Mapping[str, str], scope: StatusScope, used: tuple[str, ...]
) -> _Names:
    return scope, *[(name, normalize_name(facts.get(name, "") or str(getattr(document, name, "")))) for name in used]


def normalize_name(name: str) -> str:
    """Return the form in which names are compared: leading zeros of numbers are removed."""
    text = name.strip()
    return text.lstrip("0") or "0" if text.isdecimal() else text


MAX_REASONS = 5  # of one document
REASON_CHARS = 200
_WORST_FIRST = (
    PartnerStatus.REJECTED,
    PartnerStatus.PARTLY,
    PartnerStatus.NOTED,
    PartnerStatus.RECEIVED,
    PartnerStatus.ACCEPTED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    verdict: PartnerStatus  # status of the whole batch
    reasons: tuple[str, ...]  # reasons that all documents share
    members: tuple[AnsweredMember, ...]  # messages with another status or other reasons


def summarize_statuses(became: Sequence[DocumentStatus], filed: Sequence[DocumentPosition]) -> BatchStatus:
    """``filed`` are all documents of the batch. Of several documents of one message, the worst counts."""
    by_delivery: dict[int, DocumentStatus] = {}
    for one in became:
        before = by_delivery.get(one.filed.delivery)
        if before is None or _WORST_FIRST.index(one.verdict) < _WORST_FIRST.index(before.verdict):
            by_delivery[one.filed.delivery] = one
    told = by_delivery.values()
    is_all = len(by_delivery) == len({one.delivery for one in filed})
    whole, shared = _whole({one.verdict for one in told}, is_all)
    reasons = {one.reasons for one in told} if is_all else set()
    common = reasons.pop() if len(reasons) == 1 else ()
    members = [
        AnsweredMember(delivery, one.verdict.value, _shown(one.reasons))
        for delivery, one in by_delivery.items()
        if one.verdict is not shared or one.reasons != common
    ]
    return BatchStatus(verdict=whole, reasons=_shown(common), members=tuple(members))


def _whole(verdicts: Collection[PartnerStatus], is_all: bool) -> tuple[PartnerStatus, PartnerStatus]:
    """Return the status of the batch, and the status of its messages that are not listed separately."""
    if not is_all or (PartnerStatus.RECEIVED in verdicts and PartnerStatus.REJECTED not in verdicts):
        return PartnerStatus.RECEIVED, PartnerStatus.RECEIVED
    if len(verdicts) == 1:
        [only] = verdicts
        return only, only
    return (PartnerStatus.PARTLY if PartnerStatus.REJECTED in verdicts else PartnerStatus.NOTED), PartnerStatus.ACCEPTED


def _shown(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reason[:REASON_CHARS] for reason in reasons[:MAX_REASONS])
