"""A pause of the pushes to a service: its reason, and when the next push is tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPause:
    """Why pushes to a service are paused, and when the next push is tried."""

    until_us: int  # when one message is pushed as a probe
    failed: int
    of: int  # the number of latest pushes, of which ``failed`` failed

    @property
    def why(self) -> str:
        return f"{self.failed} of the last {self.of} pushes failed"
