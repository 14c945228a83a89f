"""The profile of a splitter: what becomes of the interchanges that a partner sends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from postroad.core.configuration.entries.standard_options import OptionsEntry, options_entry, options_of
from postroad.core.configuration.profile.batching import StandardName
from postroad.core.configuration.shapes import StrictShape, Word
from postroad.core.model.batch_policy import Dirt, Splitting


class SplittingProfile(StrictShape):
    """Each document of an interchange goes on by itself."""

    sends_to: Annotated[Word, Field(description="Address or GCID of the service that gets the documents")]
    standard: Annotated[StandardName | Literal[""], Field(description="Left out: whatever is recognised")] = ""
    dirt: Annotated[Dirt, Field(description="What becomes of an interchange with something wrong in it")] = Dirt.REFUSE
    answers_to: Annotated[
        Word | Literal[""],
        Field(description="The service by which the partner is sent acknowledgments (997, CONTRL, ACK)"),
    ] = ""
    facts: Annotated[OptionsEntry, Field(description="What was agreed on besides, by the names of the standard")]

    def splitting(self) -> Splitting:
        """The directory's object for this profile."""
        return Splitting(
            sends_to=self.sends_to,
            standard=self.standard,
            dirt=self.dirt,
            answers_to=self.answers_to,
            facts=options_of(self.facts),
        )


def splitting_entry(splitting: Splitting) -> dict[str, Any]:
    """A splitter as it is written, without what is as usual."""
    written = {
        "sendsTo": splitting.sends_to,
        "standard": splitting.standard,
        "dirt": splitting.dirt.value,
        "answersTo": splitting.answers_to,
        "facts": options_entry(splitting.facts),
    }
    return {
        name: value
        for name, value in written.items()
        if value not in ("", {}) and (name, value) != DEFAULT_ENVELOPE_ERROR_POLICY
    }


DEFAULT_ENVELOPE_ERROR_POLICY = ("dirt", Dirt.REFUSE.value)
