"""What every page can reach."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from postroad.bootstrap import RunningNetwork
from postroad.console.rendering import Rendering
from postroad.console.streams import Streams
from postroad.console.visits import Visits
from postroad.core.admission.rate import RateLimiter
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration import Administration
from postroad.flow.live import Live
from postroad.flow.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    running: RunningNetwork
    administration: Administration
    rendering: Rendering
    visits: Visits
    limiter: RateLimiter
    live: Live
    streams: Streams

    @property
    def network(self) -> Network:
        return self.running.network

    @property
    def directory(self) -> Directory:
        return self.running.network.directory

    @property
    def now_us(self) -> int:
        return self.running.network.clock.now_us()


def console_of(request: Request) -> Console:
    found: Console = request.app.state.console
    return found


def caller_of(request: Request) -> Caller:
    """Whoever is logged in; only pages that are for members may ask."""
    found: Caller = request.state.caller
    return found
