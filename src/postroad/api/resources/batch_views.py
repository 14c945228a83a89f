"""Requests of the batch resources, and how batches are shown as resources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from postroad.api.pagination import PageQuery
from postroad.api.resources.context import time_or_none
from postroad.api.resources.message_views import answer_view, drawn_view
from postroad.core.batching.close_criteria import BatchDue, share_at
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import Line, StrictShape, Word
from postroad.core.model.batch import Batch, BatchState
from postroad.core.resources.base import build_resource
from postroad.core.resources.batches import BatchDetails, BatchMemberView, BatchView, CriterionView
from postroad.core.visibility.batch_membership import number_ranges, partner_answer
from postroad.core.visibility.redact_batch_member import RedactedMember
from postroad.flow.administration.batches import BatchReport, ListedBatch

StateName = BatchState | Literal["", "all"]


class BatchQuery(PageQuery):
    service: Annotated[Line, Field(description="GCID or address of the batcher; default: all of your organization")] = (
        ""
    )
    state: Annotated[
        StateName,
        Field(description=("Only batches in this state; empty: all that have not been sent; all: every batch")),
    ] = ""


class SteeringWish(StrictShape):
    reason: Annotated[Line, Field(description="Recorded with the action")] = ""


class ReasonedWish(StrictShape):
    reason: Annotated[Word, Field(description="Recorded with the action")]


def batch_view(seen: ListedBatch, now_us: int) -> BatchView:
    batch = seen.batch
    return build_resource(
        BatchView,
        batch,
        service=seen.service.address if seen.service is not None else batch.service,
        gcid=batch.service,
        key=list(batch.key[1:]),
        members=batch.count,
        opened_at=write_time(batch.opened_at_us),
        latest_at=write_time(batch.latest_at_us),
        closed_at=time_or_none(batch.closed_at_us),
        nearest=criterion_view(seen.due, batch, now_us),
    )


def details_view(shown: BatchReport, now_us: int) -> BatchDetails:
    made = shown.known.assembled
    return build_resource(
        BatchDetails,
        batch_view(shown.seen, now_us),
        criteria=[criterion_view(one, shown.seen.batch, now_us) for one in shown.criteria],
        standard=made.standard if made is not None else "",
        numbers=[drawn_view(one) for one in number_ranges(made)] if made is not None else [],
        sending=shown.sending,
        answers=[answer_view(partner_answer(one)) for one in shown.known.answers],
        changes=shown.changes,
    )


def criterion_view(due: BatchDue, batch: Batch, now_us: int) -> CriterionView:
    at = write_time(due.when_us) if due.when_us is not None else None
    return build_resource(CriterionView, due, at=at, share=round(share_at(due, batch, now_us), 4))


def member_view(member: RedactedMember) -> BatchMemberView:
    return build_resource(
        BatchMemberView,
        member,
        delivery=member.id,
        in_batch=member.is_in_it,
        since=write_time(member.since_us),
        reasons=list(member.reasons),
    )
