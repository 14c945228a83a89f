"""What the HTTP front needs to know of the rest of the server, to limit posts before they are parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from postroad.adapters.system import SystemRandomness
from postroad.api.http.request import FastRequest
from postroad.ports import Randomness


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    is_storage_behind: Callable[[], bool] = lambda: False  # it has enough to write without further posts
    is_memory_short: Callable[[], bool] = lambda: False
    organization_of: Callable[[FastRequest], str] = lambda request: ""  # without proving credentials; must be fast
    randomness: Randomness = field(default_factory=SystemRandomness)  # for Retry-After
