"""What became of documents that were sent, by the answer that came: as the network finds it, through the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.interchange.answers import Matched, Said, matched
from postroad.core.interchange.catalogue import BUILT_IN
from postroad.core.interchange.filing import filed
from postroad.core.interchange.nouns import Dirt, Placed, Verdict


def said_in(name: str, answer: bytes, dirt: Dirt = Dirt.REFUSE) -> tuple[Said, ...]:
    """What is said in the one interchange that these bytes are."""
    standard = BUILT_IN.standard(name)
    assert standard.split
    assert standard.answers
    [found] = standard.split(answer, dirt, {})
    return standard.answers(found)


def became_of(places: Sequence[Placed], said: Sequence[Said]) -> Matched:
    """Documents are known by their place in ``places``: that is their delivery."""
    return matched(said, [filed(one, delivery) for delivery, one in enumerate(places)])


def verdicts(found: Matched) -> list[tuple[int, Verdict]]:
    return [(one.filed.delivery, one.verdict) for one in found.became]
