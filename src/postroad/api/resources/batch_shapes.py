"""Request and response types of the batch resources."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from postroad.api.pagination import PageQuery
from postroad.api.resources.batch_history_views import DrawnView, PartnerAnswerView, answer_view, drawn_view
from postroad.api.resources.context import time_or_none
from postroad.core.batching.close_criteria import BatchDue, share_at
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import Line, StrictShape, Word
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.history import BatchChange
from postroad.core.visibility.batch_membership import number_ranges, partner_answer
from postroad.core.visibility.redact_batch_member import RedactedMember
from postroad.flow.administration.batches import BatchReport, InterchangeStatus, ListedBatch

StateName = BatchState | Literal["", "all"]


class BatchQuery(PageQuery):
    service: Annotated[Line, Field(description="GCID or address of the batcher; default: all of your organization")] = (
        ""
    )
    state: Annotated[
        StateName, Field(description="Only batches in this state; empty: all that have not been sent; all: every batch")
    ] = ""


class SteeringWish(StrictShape):
    reason: Annotated[Line, Field(description="Recorded with the action")] = ""


class ReasonedWish(StrictShape):
    reason: Annotated[Word, Field(description="Recorded with the action")]


class CriterionView(StrictShape):
    """The reading of one criterion of a batch's policy."""

    criterion: Annotated[Criterion | None, Field(description="None if no criterion applies any more")]
    at: Annotated[str | None, Field(description="When the criterion is met without further messages; none: unknown")]
    share: Annotated[float, Field(description="Progress, from 0 to 1")]
    told: Annotated[str, Field(description="In words")]


class BatchView(StrictShape):
    id: str
    version: Annotated[int, Field(description="Incremented with every change; the ETag")]
    service: Annotated[str, Field(description="Address of the batcher")]
    gcid: str
    state: BatchState
    key: Annotated[list[str], Field(description="Common values of its messages")]
    kind: Annotated[str, Field(description="The type of its first document")]
    members: int
    bytes: int
    opened_at: str
    latest_at: Annotated[str, Field(description="When the latest message arrived")]
    closed_at: str | None
    closed_by: Criterion | None
    held: Annotated[bool, Field(description="Paused: it is not assembled before it is resumed")]
    controlled: Annotated[bool, Field(description="Its application decides when it closes")]
    why: Annotated[str, Field(description="It was closed or suspended")]
    nearest: Annotated[CriterionView, Field(description="The nearest criterion, or why it has not been sent")]
    interchange: Annotated[str, Field(description="Session ID of its interchange")]


class BatchPage(StrictShape):
    items: list[BatchView]
    next: str | None = None


class SendingView(StrictShape):
    """Where the interchange of a batch is."""

    recipient: str
    delivery: int
    state: str
    attempts: int
    next_at: Annotated[str | None, Field(description="When it is retried")]
    expires_at: str | None
    reason: str


class BatchChangeView(StrictShape):
    """Something that happened to a batch."""

    at: str
    what: str
    by: str
    messages: Annotated[int, Field(description="That joined, were sent or left")]
    detail: str


class BatchDetails(BatchView):
    criteria: Annotated[list[CriterionView], Field(description="State of each criterion, while the batch is open")]
    standard: str
    numbers: list[DrawnView]
    sending: SendingView | None
    answers: list[PartnerAnswerView]
    changes: Annotated[list[BatchChangeView], Field(description="Its latest events, oldest first")]


class BatchMemberView(StrictShape):
    delivery: Annotated[int, Field(description="Number of the delivery, which names the member")]
    session: str
    sender: str = Field(alias="from")
    kind: str
    bytes: int
    state: str
    in_batch: Annotated[bool, Field(description="False if it has left: expired, cancelled or removed")]
    since: str
    group: Annotated[str, Field(description="Control number of its group in the interchange")]
    document: Annotated[str, Field(description="Reference of its document there")]
    verdict: Annotated[str, Field(description="The partner's functional acknowledgment of it")]
    reasons: list[str]


class BatchMemberPage(StrictShape):
    items: list[BatchMemberView]
    next: str | None = None


def batch_view(seen: ListedBatch, now_us: int) -> dict[str, Any]:
    batch = seen.batch
    return {
        "id": batch.id,
        "version": batch.version,
        "service": seen.service.address if seen.service is not None else batch.service,
        "gcid": batch.service,
        "state": batch.state.value,
        "key": list(batch.key[1:]),
        "kind": batch.kind,
        "members": batch.count,
        "bytes": batch.bytes,
        "openedAt": write_time(batch.opened_at_us),
        "latestAt": write_time(batch.latest_at_us),
        "closedAt": time_or_none(batch.closed_at_us),
        "closedBy": batch.closed_by.value if batch.closed_by is not None else None,
        "held": batch.held,
        "controlled": batch.controlled,
        "why": batch.why,
        "nearest": criterion_view(seen.due, batch, now_us),
        "interchange": batch.interchange,
    }


def details_view(shown: BatchReport, now_us: int) -> dict[str, Any]:
    made = shown.known.assembled
    return batch_view(shown.seen, now_us) | {
        "criteria": [criterion_view(one, shown.seen.batch, now_us) for one in shown.criteria],
        "standard": made.standard if made is not None else "",
        "numbers": [drawn_view(one) for one in number_ranges(made)] if made is not None else [],
        "sending": _sending_view(shown.sending) if shown.sending is not None else None,
        "answers": [answer_view(partner_answer(one)) for one in shown.known.answers],
        "changes": [_change_view(one) for one in shown.changes],
    }


def criterion_view(due: BatchDue, batch: Batch, now_us: int) -> dict[str, Any]:
    return {
        "criterion": due.criterion.value if due.criterion is not None else None,
        "at": write_time(due.when_us) if due.when_us is not None else None,
        "share": round(share_at(due, batch, now_us), 4),
        "told": due.told,
    }


def _change_view(change: BatchChange) -> dict[str, Any]:
    return {
        "at": write_time(change.at_us),
        "what": change.what,
        "by": change.by,
        "messages": change.messages,
        "detail": change.detail,
    }


def _sending_view(sending: InterchangeStatus) -> dict[str, Any]:
    return {
        "recipient": sending.recipient,
        "delivery": sending.delivery,
        "state": sending.state,
        "attempts": sending.attempts,
        "nextAt": time_or_none(sending.next_at_us),
        "expiresAt": time_or_none(sending.expires_at_us),
        "reason": sending.reason,
    }


def member_view(member: RedactedMember) -> dict[str, Any]:
    return {
        "delivery": member.id,
        "session": member.session,
        "from": member.sender,
        "kind": member.kind,
        "bytes": member.bytes,
        "state": member.state,
        "inBatch": member.is_in_it,
        "since": write_time(member.since_us),
        "group": member.group,
        "document": member.document,
        "verdict": member.verdict,
        "reasons": list(member.reasons),
    }
