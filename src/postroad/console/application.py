"""The console as one ASGI application, for all addresses that are not API resources."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from postroad.bootstrap import RunningNetwork
from postroad.console.browser_sessions import BrowserSessions
from postroad.console.context import Console
from postroad.console.event_streams import StreamSlots
from postroad.console.page_guards import missing_page, redirect, safe_return_path
from postroad.console.pages import PAGES
from postroad.console.rendering import Rendering
from postroad.console.static_files import PREFIX, serve_static
from postroad.core.admission.rate_limit import RateLimiter
from postroad.flow.administration.base import Administration
from postroad.flow.live.feed import LiveFeed

REQUESTS_PER_S = 100  # of one address


def console(running: RunningNetwork, administration: Administration) -> Starlette:
    """The console of a running network."""
    static = Route(PREFIX + "{name:path}", serve_static, methods=["GET"])
    app = Starlette(routes=[static, *PAGES], exception_handlers={404: _missing_page, 405: _missing_page})
    app.router.redirect_slashes = False
    app.state.console = Console(
        running=running,
        administration=administration,
        rendering=Rendering(),
        visits=BrowserSessions(running.network.tokens.secret_for("visits")),
        limiter=RateLimiter(REQUESTS_PER_S),
        live=LiveFeed(running.network),
        streams=StreamSlots(),
    )
    return app


async def _missing_page(request: Request, error: Exception) -> Response:
    path = request.url.path
    if request.method == "GET" and path.endswith("/") and path.strip("/"):
        return redirect(safe_return_path(path.rstrip("/")))  # by the path only: clients choose the Host header
    return await missing_page(request)
