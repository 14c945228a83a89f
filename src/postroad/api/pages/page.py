"""Parts shared by all pages: layout, content security policy, authentication, and refusals as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from html import escape
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.api.problem import problem_of
from postroad.api.resources.route_guards import check_body, check_site, limit_rate, peer_of, proof_of
from postroad.core.model.caller import Caller
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import REQUIRED
from postroad.flow.access.throttle import normalize_peer

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 16 << 10
MAX_FIELDS = 20
CONSOLE_PAGES = {"provision": "/connect", "provisioned": "/connected"}
POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

# Browsers read one scheme a field: behind another one, which they do not know, they would not see Basic and ask no one.
LOG_IN = {"WWW-Authenticate": 'Basic realm="postroad", charset="UTF-8"'}

Shown = Callable[[Request], Awaitable[Response]]


def page(title: str, body: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page; ``body`` is HTML in which every text of others is escaped already."""
    text = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title></head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    given = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"} | dict(headers or {})
    return Response(text, status, given, media_type="text/html; charset=utf-8")


def serve_page(show: Shown) -> Shown:
    """Wraps a page so that refusals are shown as pages."""

    async def shown(request: Request) -> Response:
        try:
            limit_rate(request, f"peer {normalize_peer(peer_of(request))}")
            return _redirect_to_console(request) or await show(request)
        except (Refused, Unavailable) as error:
            found = problem_of(error)
            title = REFUSALS[error.code].title if error.code in REFUSALS else "Not now"
            headers = dict(found.headers) | (LOG_IN if error.code == "authentication.required" else {})
            return page(title, f"<p>{escape(error.detail)}.</p>", found.status, headers)

    return shown


def _redirect_to_console(request: Request) -> Response | None:
    """Redirect to the same page of the console, if there is one; people log in there."""
    ours, _, rest = request.url.path[1:].partition("/")
    if not request.app.state.api.has_console or request.method != "GET" or proof_of(request).authorization:
        return None
    path = f"{CONSOLE_PAGES[ours]}/{rest}" if rest else CONSOLE_PAGES[ours]
    return RedirectResponse(f"{quote(path)}?{request.url.query}" if request.url.query else quote(path), 303)


async def authenticate_person(request: Request) -> Caller:
    """The authenticated person; asks the browser for name and password."""
    proof = proof_of(request)
    if not proof.authorization:
        raise Refused("authentication.required", REQUIRED)
    caller: Caller = await request.app.state.api.authenticator.authenticate(proof, peer_of(request))
    check_site(request)
    if caller.person is None:
        raise Refused("permission.denied", "Only a person can do this; log in with your e-mail address and password")
    return caller


def query_of(request: Request, *known: str) -> dict[str, str]:
    return _fields(request.query_params.multi_items(), known)


async def form_of(request: Request, *known: str) -> dict[str, str]:
    """The fields of a form that was sent."""
    await check_body(request, FORM_BYTES, (FORM,))
    try:
        text = (await request.body()).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # not UTF-8, or too many
        raise Refused(
            "request.malformed", "The form could not be read; reload the page and send the form again"
        ) from None
    return _fields(pairs, known)


def _fields(pairs: list[tuple[str, str]], known: tuple[str, ...]) -> dict[str, str]:
    """Each known field at most once; others are refused, an address to return to among them."""
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= set(known):
        raise Refused("value.invalid", f"Send {', '.join(known)}, each once, and no other fields")
    return found
