"""Splitters as people write them: what becomes of the interchanges that a partner sends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from postroad.core.configuration.batching_profile import StandardName
from postroad.core.configuration.facts import FactsEntry, facts_entry, facts_of
from postroad.core.configuration.shapes import Shape, Word
from postroad.core.model.batch_policy import Dirt, Splitting


class SplittingProfile(Shape):
    """Each document of an interchange goes on by itself."""

    sends_to: Annotated[Word, Field(description="Address or GCID of the service that gets the documents")]
    standard: Annotated[StandardName | Literal[""], Field(description="Left out: whatever is recognised")] = ""
    dirt: Annotated[Dirt, Field(description="What becomes of an interchange with something wrong in it")] = Dirt.REFUSE
    answers_to: Annotated[
        Word | Literal[""], Field(description="The service by which the partner is told (997, CONTRL, ACK)")
    ] = ""
    facts: Annotated[FactsEntry, Field(description="What was agreed on besides, by the names of the standard")]

    def splitting(self) -> Splitting:
        """The directory's object for this profile."""
        return Splitting(
            sends_to=self.sends_to,
            standard=self.standard,
            dirt=self.dirt,
            answers_to=self.answers_to,
            facts=facts_of(self.facts),
        )


def splitting_entry(splitting: Splitting) -> dict[str, Any]:
    """A splitter as it is written, without what is as usual."""
    written = {
        "sendsTo": splitting.sends_to,
        "standard": splitting.standard,
        "dirt": splitting.dirt.value,
        "answersTo": splitting.answers_to,
        "facts": facts_entry(splitting.facts),
    }
    return {name: value for name, value in written.items() if value not in ("", {}) and (name, value) != USUAL_DIRT}


USUAL_DIRT = ("dirt", Dirt.REFUSE.value)
