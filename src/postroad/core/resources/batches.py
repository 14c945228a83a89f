"""Batches in lists and full, and their members."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from postroad.core.codecs.lexical import read_time
from postroad.core.model.batch import BatchState, Criterion
from postroad.core.resources.base import Page, Resource, one_of
from postroad.core.resources.histories import DrawnView, PartnerAnswerView

CriterionWord = Annotated[str, one_of(*Criterion)]


class CriterionView(Resource, kw_only=True):
    """The reading of one criterion of a batch's policy."""

    criterion: Annotated[CriterionWord | None, Meta(description="None if no criterion applies any more")]
    at: Annotated[str | None, Meta(description="When the criterion is met without further messages; none: unknown")]
    share: Annotated[float, Meta(description="Progress, from 0 to 1")]
    told: Annotated[str, Meta(description="In words")]


class BatchView(Resource, kw_only=True):
    """A batch, and why it has not been sent."""

    id: str
    version: Annotated[int, Meta(description="Incremented with every change; the ETag")]
    service: Annotated[str, Meta(description="Address of the batcher")]
    gcid: str
    state: Annotated[str, one_of(*BatchState)]
    key: Annotated[list[str], Meta(description="Common values of its messages")]
    kind: Annotated[str, Meta(description="The type of its first document")]
    members: int
    bytes: int
    opened_at: str
    latest_at: Annotated[str, Meta(description="When the latest message arrived")]
    closed_at: str | None
    closed_by: CriterionWord | None
    held: Annotated[bool, Meta(description="Paused: it is not assembled before it is resumed")]
    controlled: Annotated[bool, Meta(description="Its application decides when it closes")]
    why: Annotated[str, Meta(description="It was closed or suspended")]
    nearest: Annotated[CriterionView, Meta(description="The nearest criterion, or why it has not been sent")]
    interchange: Annotated[str, Meta(description="Session ID of its interchange")]


class BatchPage(Page[BatchView]):
    """Batches, newest first."""


class SendingView(Resource, kw_only=True):
    """Where the interchange of a batch is."""

    recipient: str
    delivery: int
    state: str
    attempts: int
    next_at: Annotated[str | None, Meta(description="When it is retried")]
    expires_at: str | None
    reason: str

    @property
    def next_at_us(self) -> int:
        """When it is tried again, in microseconds since 1970; 0: now, or never."""
        return read_time(self.next_at, "/sending/nextAt") if self.next_at else 0


class BatchChangeView(Resource, kw_only=True):
    """Something that happened to a batch."""

    at: str
    what: str
    by: str
    messages: Annotated[int, Meta(description="That joined, were sent or left")] = 0
    detail: str = ""

    @property
    def at_us(self) -> int:
        return read_time(self.at, "/changes/at")


class BatchDetails(BatchView, kw_only=True):
    """One batch with its criteria, its interchange, and the partner's acknowledgments."""

    criteria: Annotated[list[CriterionView], Meta(description="State of each criterion, while the batch is open")]
    standard: str
    numbers: list[DrawnView]
    sending: SendingView | None
    answers: list[PartnerAnswerView]
    changes: Annotated[list[BatchChangeView], Meta(description="Its latest events, oldest first")]


class BatchMemberView(Resource, kw_only=True):
    """One message of a batch, or one that has left it."""

    delivery: Annotated[int, Meta(description="Number of the delivery, which names the member")]
    session: str
    sender: str = field(name="from")
    kind: str
    bytes: int
    state: str
    in_batch: Annotated[bool, Meta(description="False if it has left: expired, cancelled or removed")]
    since: str
    group: Annotated[str, Meta(description="Control number of its group in the interchange")]
    document: Annotated[str, Meta(description="Reference of its document there")]
    verdict: Annotated[str, Meta(description="The partner's functional acknowledgment of it")]
    reasons: list[str]


class BatchMemberPage(Page[BatchMemberView]):
    """Members of a batch, in order of arrival."""
