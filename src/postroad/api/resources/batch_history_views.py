"""Response types for batches and interchanges in traces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.history import BatchMembership, InterchangeContents, NumberRange, PartnerAnswer


class GatheredView(StrictShape):
    """The batch that a message joined, and what happened to it there."""

    batch: str
    state: Annotated[str, Field(description="State of the batch; `left` if the message is no longer in it")]
    interchange: Annotated[str, Field(description="Session ID of the batch's interchange")]
    reference: Annotated[str, Field(description="Control number of that interchange")]
    document: Annotated[str, Field(description="Reference of the message's document in it")]
    verdict: Annotated[str, Field(description="The partner's functional acknowledgment of it")]
    reasons: list[str]


class DrawnView(StrictShape):
    """The control numbers of one scope that an interchange uses."""

    scope: str
    first: int
    last: int


class PartnerAnswerView(StrictShape):
    """A partner's acknowledgment of an interchange."""

    at: str
    session: Annotated[str, Field(description="Session of the message with this acknowledgment")]
    verdict: str
    detail: str
    otherwise: Annotated[int, Field(description="Number of messages whose status differs from the whole")]


class ContainedView(StrictShape):
    """The contents of an interchange."""

    batch: Annotated[str, Field(description="Empty for an acknowledgment of a partner's interchange")]
    members: int
    standard: str
    numbers: list[DrawnView]
    answers: list[PartnerAnswerView]


def gathered_view(gathered: BatchMembership) -> dict[str, Any]:
    return {
        "batch": gathered.batch,
        "state": gathered.state,
        "interchange": gathered.interchange,
        "reference": gathered.reference,
        "document": gathered.document,
        "verdict": gathered.verdict,
        "reasons": gathered.reasons,
    }


def contained_view(contained: InterchangeContents) -> dict[str, Any]:
    return {
        "batch": contained.batch,
        "members": contained.members,
        "standard": contained.standard,
        "numbers": [drawn_view(one) for one in contained.numbers],
        "answers": [answer_view(one) for one in contained.answers],
    }


def drawn_view(drawn: NumberRange) -> dict[str, Any]:
    return {"scope": drawn.scope, "first": drawn.first, "last": drawn.last}


def answer_view(answered: PartnerAnswer) -> dict[str, Any]:
    return {
        "at": write_time(answered.at_us),
        "session": answered.session,
        "verdict": answered.verdict,
        "detail": answered.detail,
        "otherwise": answered.otherwise,
    }
