"""Requests of the dead letter resources, and how dead letters are shown as resources."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, model_validator

from postroad.api.pagination import PageQuery
from postroad.api.resources.stop_contents import part_view
from postroad.core.codecs.lexical import read_time, write_time
from postroad.core.configuration.shapes import Line, Seconds, StrictShape, Word
from postroad.core.model.reason import Cause
from postroad.core.resources.base import build_resource
from postroad.core.resources.dead_letters import LetterCount, LetterDetails, LetterEvent, LetterResult, LetterView
from postroad.core.visibility.redact_dead_letter import DeadLetterView
from postroad.errors import Refused
from postroad.flow.administration.dead_letters import (
    DeadLetterCount,
    DeadLetterDetails,
    DeadLetterSearch,
    LetterOutcome,
)

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
    def check_selection(self) -> Self:
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


def letter_view(letter: DeadLetterView) -> LetterView:
    return build_resource(
        LetterView,
        letter,
        delivery=letter.id,
        failed_at=write_time(letter.failed_at_us),
        posted_at=write_time(letter.posted_at_us),
        open=letter.is_open,
    )


def details_view(found: DeadLetterDetails) -> LetterDetails:
    events = [build_resource(LetterEvent, event, at=write_time(event.at_us)) for event in found.events]
    return build_resource(
        LetterDetails, letter_view(found.letter), events=events, parts=[part_view(part) for part in found.parts]
    )


def count_view(counted: DeadLetterCount) -> LetterCount:
    return build_resource(LetterCount, counted, sample=[letter_view(letter) for letter in counted.sample])


def result_view(dealt: LetterOutcome) -> LetterResult:
    if dealt.refusal is None:
        return LetterResult(letter=dealt.letter.id, delivery=dealt.delivery)
    return LetterResult(
        letter=dealt.letter.id, delivery=dealt.delivery, code=dealt.refusal.code, detail=dealt.refusal.detail
    )
