"""A pause of the pushes to a service: why it is made, and when the next push is tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPause:
    """Why pushes to a service are paused, and when the next push is tried."""

    until_us: int  # then one message is pushed as a probe
    failed: int
    of: int  # that many of the last pushes failed

    @property
    def why(self) -> str:
        return f"{self.failed} of the last {self.of} pushes failed"
