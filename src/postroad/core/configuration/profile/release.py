"""Store-and-forward settings as people write them: when deliveries are released, and when they expire."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from postroad.core.configuration.shapes import Seconds, StrictShape

MAX_WAITING = 10_000  # they are counted whenever one arrives


class ReleaseProfile(StrictShape):
    """What waits is released by whichever comes first; what has waited longer than it is kept expires."""

    every_s: Annotated[
        Seconds, Field(alias="everySeconds", description="Release when the oldest message has waited this long")
    ] = 0
    when_waiting: Annotated[
        StrictInt, Field(ge=0, le=MAX_WAITING, description="Release when this number of messages wait")
    ] = 0
    on_request: Annotated[
        StrictBool, Field(description="Release on request, unless another criterion is met first")
    ] = False
    keep_s: Annotated[Seconds, Field(alias="keepSeconds", description="Messages that have waited longer expire")] = 0

    @property
    def holds(self) -> bool:
        return bool(self.every_s or self.when_waiting or self.on_request)

    @model_validator(mode="after")
    def check_not_empty(self) -> Self:
        if not self.holds and not self.keep_s:
            raise ValueError(
                "is empty: set everySeconds, whenWaiting, onRequest: true or keepSeconds; or remove release"
            )
        return self

    @model_validator(mode="after")
    def check_releases(self) -> Self:
        """A period that is over only when everything has expired is a mistake, unless there is another way out."""
        if 0 < self.keep_s <= self.every_s and not self.when_waiting and not self.on_request:
            raise ValueError(
                "no message would ever be released: all expire before everySeconds; "
                "increase keepSeconds, or set onRequest: true"
            )
        return self
