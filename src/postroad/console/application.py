"""The console as one ASGI application; whoever serves the network hands it every address that is no resource's."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from postroad.bootstrap import RunningNetwork
from postroad.console.context import Console
from postroad.console.guarding import go, missing_page, own_path
from postroad.console.pages import PAGES
from postroad.console.rendering import Rendering
from postroad.console.static_files import PREFIX, serve_static
from postroad.console.streams import Streams
from postroad.console.visits import Visits
from postroad.core.admission.rate import RateLimiter
from postroad.flow.administration import Administration
from postroad.flow.live import Live

REQUESTS_PER_S = 100  # of one address


def console(running: RunningNetwork, administration: Administration) -> Starlette:
    """The console of a running network."""
    static = Route(PREFIX + "{name:path}", serve_static, methods=["GET"])
    app = Starlette(routes=[static, *PAGES], exception_handlers={404: _missing, 405: _missing})
    app.router.redirect_slashes = False
    app.state.console = Console(
        running=running,
        administration=administration,
        rendering=Rendering(),
        visits=Visits(running.network.tokens.secret_for("visits")),
        limiter=RateLimiter(REQUESTS_PER_S),
        live=Live(running.network),
        streams=Streams(),
    )
    return app


async def _missing(request: Request, error: Exception) -> Response:
    path = request.url.path
    if request.method == "GET" and path.endswith("/") and path.strip("/"):
        return go(own_path(path.rstrip("/")))  # by the path alone: whoever asks chooses the host that they name
    return await missing_page(request)
