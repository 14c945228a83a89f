"""Dead letters in lists, groups and full, and the results of actions on them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from postroad.core.codecs.lexical import read_time
from postroad.core.model.reason import Cause
from postroad.core.resources.base import Page, Resource, one_of
from postroad.core.resources.messages import PartView

CauseWord = Annotated[str, one_of(*Cause)]
Complete = Annotated[bool, Meta(description="False when there are more letters than were checked")]


class LetterView(Resource, kw_only=True):
    """A delivery that failed permanently."""

    delivery: Annotated[int, Meta(description="Number of the delivery, which names the letter")]
    session: str
    failed_at: str
    posted_at: str
    service: Annotated[str, Meta(description="At which it failed")]
    gcid: str
    sender: str = field(name="from")
    type: str
    topic: str
    handle: str
    size: int
    attempts: int
    cause: CauseWord
    reason: str
    resent: Annotated[bool, Meta(description="It had been resent before it failed")]
    open: Annotated[bool, Meta(description="It was neither resent nor dropped")]


class LetterPage(Page[LetterView]):
    """Dead letters, oldest first."""


class LetterGroup(Resource, kw_only=True):
    """Dead letters at one service with one cause."""

    service: str
    cause: CauseWord
    meaning: str
    count: int
    oldest: str
    newest: str
    example: Annotated[int, Meta(description="The newest dead letter")]
    reason: str

    @property
    def oldest_us(self) -> int:
        return read_time(self.oldest, "/oldest")

    @property
    def newest_us(self) -> int:
        return read_time(self.newest, "/newest")


class LetterGroupList(Resource, kw_only=True):
    """Dead letters by service and cause, the largest group first."""

    items: list[LetterGroup]
    complete: Complete


class LetterEvent(Resource, kw_only=True):
    """Something that happened where the message failed."""

    at: str
    what: str
    by: str
    detail: str


class LetterDetails(LetterView, kw_only=True):
    """One dead letter with what happened where it failed, and its parts."""

    events: list[LetterEvent]
    parts: Annotated[list[PartView], Meta(description="Read one under /v1/messages/{session}/stops/{delivery}/parts")]


class LetterCount(Resource, kw_only=True):
    """The result of a dry run."""

    matches: int
    complete: Complete
    sample: list[LetterView]


class LetterResult(Resource, kw_only=True):
    """The result for one letter: the new delivery, or the refusal."""

    letter: Annotated[int, Meta(description="The dead letter")]
    delivery: Annotated[int, Meta(description="Its new delivery; 0 when it was dropped or refused")] = 0
    code: Annotated[str, Meta(description="Why it was refused; empty if it was not")] = ""
    detail: str = ""


class LetterResultPage(Page[LetterResult]):
    """The results for one page of letters."""


class ResentLetter(Resource, kw_only=True):
    """The result of resending one letter."""

    delivery: Annotated[int, Meta(description="The new delivery")]
