"""Request and response types of the dead letter resources."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, model_validator

from postroad.api.pagination import PageQuery
from postroad.core.codecs.lexical import read_time, write_time
from postroad.core.configuration.shapes import Line, Seconds, StrictShape, Word
from postroad.core.delivery.dead_letters import MEANING, Cause, LetterGroup
from postroad.core.model.history import HistoryEvent
from postroad.core.model.part_facts import PartFacts
from postroad.core.visibility.redact_dead_letter import DeadLetterView
from postroad.errors import Refused
from postroad.flow.administration.dead_letters import DeadLetterSearch, LetterOutcome

MAX_PAGE = 100  # letters that are dealt with in one call


def _check_time(text: str) -> str:
    try:
        return text and write_time(read_time(text, ""))
    except Refused as refusal:
        raise ValueError(refusal.detail) from None


Time = Annotated[StrictStr, Field(max_length=40), AfterValidator(_check_time)]


class Filters(StrictShape):
    """Filters that select dead letters by what the caller may see of them."""

    service: Annotated[Line, Field(description="GCID or address of the service where it failed")] = ""
    sender: Annotated[Line, Field(description="GCID or address of the service that sent the message")] = ""
    cause: Cause | Literal[""] = ""
    topic: Line = ""
    session: Annotated[Line, Field(description="Session ID of the message")] = ""
    since: Annotated[Time, Field(description="Failed at this time or later, as 2026-11-15T10:00:00Z")] = ""
    until: Annotated[Time, Field(description="Failed before this time")] = ""

    @property
    def are_given(self) -> bool:
        return any(getattr(self, name) for name in Filters.model_fields)

    def wish(self, after: int, upto: int, limit: int) -> DeadLetterSearch:
        return DeadLetterSearch(
            service=self.service,
            sender=self.sender,
            cause=self.cause,
            topic=self.topic,
            session=self.session,
            since_us=read_time(self.since, "") if self.since else 0,
            until_us=read_time(self.until, "") if self.until else 0,
            after=after,
            upto=upto,
            limit=limit,
        )


class LetterQuery(Filters, PageQuery):
    pass


class GroupQuery(Filters):
    pass


class ManyLetters(Filters):
    """Letters to deal with, a page at a time: the cursor of the answer leads on to the next."""

    all: Annotated[StrictBool, Field(description="Select all of your dead letters, without a filter")] = False
    dry_run: Annotated[StrictBool, Field(description="Only return the number of matches, with a sample")] = False
    limit: Annotated[StrictInt, Field(ge=1, le=MAX_PAGE)] = MAX_PAGE
    cursor: Annotated[StrictStr, Field(max_length=500)] = ""

    @model_validator(mode="after")
    def says_which(self) -> Self:
        if self.are_given == self.all:
            raise ValueError("select dead letters by at least one filter, or all of them by all, not both")
        return self


class ResendWish(StrictShape):
    reason: Annotated[Line, Field(description="Recorded with the action")] = ""
    expires_in_s: Annotated[Seconds, Field(description="New time-to-live in seconds; 0: the original one")] = 0


class DropWish(StrictShape):
    reason: Annotated[Word, Field(description="Recorded with the action")]


class ResendMany(ManyLetters, ResendWish):
    pass


class DropMany(ManyLetters, DropWish):
    pass


class LetterView(StrictShape):
    delivery: Annotated[int, Field(description="Number of the delivery, which names the letter")]
    session: str
    failed_at: str
    posted_at: str
    service: Annotated[str, Field(description="At which it failed")]
    gcid: str
    sender: str = Field(alias="from")
    type: str
    topic: str
    handle: str
    size: int
    attempts: int
    cause: Cause
    reason: str
    resent: Annotated[bool, Field(description="It had been resent before it failed")]
    open: Annotated[bool, Field(description="It was neither resent nor dropped")]


class LetterPage(StrictShape):
    items: list[LetterView]
    next: str | None = None


class GroupView(StrictShape):
    service: str
    cause: Cause
    meaning: str
    count: int
    oldest: str
    newest: str
    example: Annotated[int, Field(description="The newest dead letter")]
    reason: str


class GroupList(StrictShape):
    items: list[GroupView]
    complete: Annotated[bool, Field(description="False if there are more dead letters than were read")]


class LetterEvent(StrictShape):
    at: str
    what: str
    by: str
    detail: str


class LetterPart(StrictShape):
    id: str
    content_type: str
    size: int
    attachment: bool


class LetterDetails(LetterView):
    events: list[LetterEvent]
    parts: Annotated[
        list[LetterPart], Field(description="Read one under /v1/messages/{session}/stops/{delivery}/parts")
    ]


class Counted(StrictShape):
    """The answer to a dry run."""

    matches: int
    complete: Annotated[bool, Field(description="False if there are more dead letters than were read")]
    sample: list[LetterView]


class DealtView(StrictShape):
    letter: Annotated[int, Field(description="The dead letter")]
    delivery: Annotated[int, Field(description="Its current state, if it was resent")] = 0
    code: Annotated[str, Field(description="Why it was refused; empty if it was not")] = ""
    detail: str = ""


class DealtPage(StrictShape):
    items: list[DealtView]
    next: str | None = None


class ResentView(StrictShape):
    delivery: Annotated[int, Field(description="The new delivery")]


def letter_view(letter: DeadLetterView) -> dict[str, Any]:
    return {
        "delivery": letter.id,
        "session": letter.session,
        "failedAt": write_time(letter.failed_at_us),
        "postedAt": write_time(letter.posted_at_us),
        "service": letter.service,
        "gcid": letter.gcid,
        "from": letter.sender,
        "type": letter.type,
        "topic": letter.topic,
        "handle": letter.handle,
        "size": letter.size,
        "attempts": letter.attempts,
        "cause": letter.cause.value,
        "reason": letter.reason,
        "resent": letter.resent,
        "open": letter.is_open,
    }


def group_view(group: LetterGroup) -> dict[str, Any]:
    return {
        "service": group.service,
        "cause": group.cause.value,
        "meaning": MEANING[group.cause],
        "count": group.count,
        "oldest": write_time(group.oldest_us),
        "newest": write_time(group.newest_us),
        "example": group.example,
        "reason": group.reason,
    }


def event_view(event: HistoryEvent) -> dict[str, Any]:
    return {"at": write_time(event.at_us), "what": event.what, "by": event.by, "detail": event.detail}


def part_view(part: PartFacts) -> dict[str, Any]:
    return {"id": part.id, "contentType": part.content_type, "size": part.size, "attachment": part.attachment}


def dealt_view(dealt: LetterOutcome) -> dict[str, Any]:
    refusal = dealt.refusal
    return {
        "letter": dealt.letter.id,
        "delivery": dealt.delivery,
        "code": refusal.code if refusal is not None else "",
        "detail": refusal.detail if refusal is not None else "",
    }
