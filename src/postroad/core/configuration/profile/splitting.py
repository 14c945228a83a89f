"""The profile of a splitter: how the interchanges that a partner sends are processed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from postroad.core.configuration.entries.standard_options import OptionsEntry, options_entry, options_of
from postroad.core.configuration.profile.batching import StandardName
from postroad.core.configuration.shapes import StrictShape, Word
from postroad.core.model.batch_policy import OnEnvelopeError, Splitting

ON_ENVELOPE_ERROR = "onEnvelopeError"
OPTIONS = "options"


class SplittingProfile(StrictShape):
    """Where the documents of an interchange go, and what happens to an interchange with errors.

    The names ``dirt`` and ``facts`` of earlier versions are still read.
    """

    sends_to: Annotated[Word, Field(description="Address or GCID of the service that receives the documents")]
    standard: Annotated[StandardName | Literal[""], Field(description="Default: detected from the content")] = ""
    on_envelope_error: Annotated[
        OnEnvelopeError,
        Field(
            alias=ON_ENVELOPE_ERROR,
            validation_alias=AliasChoices(ON_ENVELOPE_ERROR, "dirt"),
            description="What happens to an interchange whose envelope has errors",
        ),
    ] = OnEnvelopeError.REFUSE
    answers_to: Annotated[
        Word | Literal[""],
        Field(description="The service that sends the partner functional acknowledgments (997, CONTRL, ACK)"),
    ] = ""
    options: Annotated[
        OptionsEntry,
        Field(
            alias=OPTIONS,
            validation_alias=AliasChoices(OPTIONS, "facts"),
            description="Other options of the standard, by name",
        ),
    ]

    def splitting(self) -> Splitting:
        """The directory's object for this profile."""
        return Splitting(
            sends_to=self.sends_to,
            standard=self.standard,
            on_envelope_error=self.on_envelope_error,
            answers_to=self.answers_to,
            options=options_of(self.options),
        )


def splitting_entry(splitting: Splitting) -> dict[str, Any]:
    """Return a splitter as it is written, without defaults."""
    written = {
        "sendsTo": splitting.sends_to,
        "standard": splitting.standard,
        ON_ENVELOPE_ERROR: splitting.on_envelope_error.value,
        "answersTo": splitting.answers_to,
        OPTIONS: options_entry(splitting.options),
    }
    default = (ON_ENVELOPE_ERROR, OnEnvelopeError.REFUSE.value)
    return {name: value for name, value in written.items() if value and (name, value) != default}
