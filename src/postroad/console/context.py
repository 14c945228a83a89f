"""The objects that every page can use."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from postroad.bootstrap import RunningNetwork
from postroad.console.browser_sessions import BrowserSessions
from postroad.console.event_streams import StreamSlots
from postroad.console.rendering import Rendering
from postroad.core.admission.rate_limit import RateLimiter
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.base import Administration
from postroad.flow.live.feed import LiveFeed
from postroad.flow.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    running: RunningNetwork
    administration: Administration
    rendering: Rendering
    visits: BrowserSessions
    limiter: RateLimiter
    live: LiveFeed
    streams: StreamSlots

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
    """Return the logged-in person; only pages for members may call it."""
    found: Caller = request.state.caller
    return found
