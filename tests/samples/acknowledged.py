"""What became of documents that were sent, by the answer that came: as the network finds it, through the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.interchange.acknowledgements import MatchedStatuses, ReportedStatus, match_statuses
from postroad.core.interchange.model import OnEnvelopeError, PartnerStatus, Placed
from postroad.core.interchange.positions import record_position
from postroad.core.interchange.standard import BUILT_IN


def said_in(name: str, answer: bytes, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE) -> tuple[ReportedStatus, ...]:
    """What is said in the one interchange that these bytes are."""
    standard = BUILT_IN.standard(name)
    assert standard.split
    assert standard.answers
    [found] = standard.split(answer, on_error, {})
    return standard.answers(found)


def became_of(places: Sequence[Placed], said: Sequence[ReportedStatus]) -> MatchedStatuses:
    """Documents are known by their place in ``places``: that is their delivery."""
    return match_statuses(said, [record_position(one, delivery) for delivery, one in enumerate(places)])


def verdicts(found: MatchedStatuses) -> list[tuple[int, PartnerStatus]]:
    return [(one.filed.delivery, one.verdict) for one in found.became]
