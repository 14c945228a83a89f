"""The checks before every page: rate limit, login, and protection against cross-site requests.

Rules: a page for members redirects to the login and back, and only to addresses of this network. A form is accepted
only from the session that it was shown to, and from no other site. Errors are shown on a page, with what to do next.
Passwords are verified with delays against guessing.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from postroad.console.context import console_of
from postroad.console.form_values import READ_AT_ONCE, parse_ahead
from postroad.core.model.caller import Caller
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import Proof
from postroad.flow.access.throttle import normalize_peer
from postroad.flow.administration.base import ABSENT_S
from postroad.flow.administration.registration import check_approved
from postroad.flow.concurrency.trial_limit import set_trial_organization
from postroad.flow.stages.body_reader import LARGE_BYTES

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 2 << 20  # rules, stylesheets and messages are pasted into forms
OPEN_FORM_BYTES = 16 << 10  # of people who are not logged in: names, addresses and passwords
MAX_FIELDS = 500
CSRF = "csrf"
OWN_ACCOUNT = ("/account", "/logout")  # what people change of themselves
SAME = ("same-origin", "none")
ELSEWHERE = ("//", "/login")  # another host; and what would log in as someone else, or not end

log = logging.getLogger(__name__)

Page = Callable[[Request], Awaitable[Response]]
Form = dict[str, str]


def public_page(path: str, page: Page, name: str = "") -> Route:
    """Make the route of a public page."""
    return Route(path, _with_error_pages(_with_rate_limit(page)), methods=["GET"], name=name or None)


def member_page(path: str, page: Page, name: str = "") -> Route:
    """Make the route of a page for logged-in people."""
    return Route(
        path, _with_error_pages(_with_rate_limit(_members_only(_evenly(page)))), methods=["GET"], name=name or None
    )


def public_form(path: str, page: Page) -> Route:
    """Make the route of a public form."""
    return Route(path, _with_error_pages(_with_rate_limit(_same_site_only(page))), methods=["POST"])


def member_form(path: str, page: Page) -> Route:
    """Make the route of a form for logged-in people; ``read_form`` returns its fields."""
    return Route(
        path,
        _with_error_pages(_with_rate_limit(_members_only(_same_site_only(_with_csrf_check(_evenly(page)))))),
        methods=["POST"],
    )


def render_page(
    request: Request,
    template: str,
    values: Mapping[str, Any] | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Render a page with the values that the page frame needs."""
    console = console_of(request)
    caller: Caller | None = getattr(request.state, "caller", None)
    frame = {
        "person": caller.person if caller is not None else None,
        "caller": caller,
        "path": request.url.path,
        "csrf": console.visits.csrf(request.state.key) if caller is not None else "",
        "told": request.query_params.get("done", "")[:200] if _is_same_site(request) else "",
        "now_us": console.now_us,
    }
    response = console.rendering.page(template, frame | dict(values or {}), status, headers)
    if caller is not None and console.visits.is_old(request, console.now_us // 1_000_000):
        console.visits.begin(request, response, request.state.key, console.now_us // 1_000_000)
    return response


def redirect(path: str, done: str = "") -> Response:
    """Redirect after a form, so that a reload sends nothing twice; ``done`` is shown on the next page."""
    joint = "&" if "?" in path else "?"
    return RedirectResponse(f"{path}{joint}done={quote(done)}" if done else path, 303)


async def read_form(request: Request) -> Form:
    """Return the fields of a form; for fields with equal names, the last."""
    found: Form | None = getattr(request.state, "form", None)
    if found is None:
        found = request.state.form = await _read_form(request)
        await _read_ahead(request, found)
    return found


async def _read_ahead(request: Request, form: Form) -> None:
    """Have long texts read in a thread before a page reads them: reading YAML takes long."""
    caller: Caller | None = getattr(request.state, "caller", None)
    long = [text for text in form.values() if len(text) > READ_AT_ONCE]
    if long and caller is not None:
        who = caller.organization or caller.name
        await console_of(request).network.heavy_requests.run(who, lambda: parse_ahead(long))


def is_part(request: Request) -> bool:
    """Return True if a script requests a part of the page."""
    return request.headers.get("hx-request") == "true"


def is_own_navigation(request: Request) -> bool:
    """Return True if the browser does not report another site as origin of the request."""
    return request.headers.get("sec-fetch-site", "none") in SAME


def safe_return_path(text: str) -> str:
    """Return the address if it is within this console, else the first page."""
    fits = text.startswith("/") and not text.startswith(ELSEWHERE) and text.isprintable() and len(text) <= 1_000
    return text if fits and "\\" not in text else "/"


async def log_in(request: Request, key: str) -> bool:
    """Log in the request by the key in its cookie; returns True if the key is valid."""
    caller = await find_person_by_key(request, key)
    if caller is not None:
        request.state.caller, request.state.key = caller, key
        set_trial_organization(caller)
        if request.method == "POST" and not request.url.path.startswith(OWN_ACCOUNT):
            check_approved(caller, console_of(request).directory)
    return caller is not None


async def find_person_by_key(request: Request, key: str) -> Caller | None:
    """Return the person with this key, while it is valid."""
    authenticator = console_of(request).running.authenticator
    proof = Proof(b"Bearer " + key.encode(), None, request.scope.get("scheme") == "https", in_console=True)
    try:
        caller = await authenticator.authenticate(proof, peer_address(request))
    except Refused as refusal:
        if refusal.code != "authentication.required":
            raise
        return None
    return caller if caller.person is not None else None


def peer_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _with_rate_limit(page: Page) -> Page:
    async def limited(request: Request) -> Response:
        console = console_of(request)
        who = f"peer {normalize_peer(peer_address(request))}"
        state = console.limiter.take(who, console.network.clock.monotonic())
        if not state.allowed:
            wait_s = state.retry_after_s
            console.network.metrics.counter("rate_limited_total", "console").value += 1
            raise Refused("rate.exceeded", f"Too many requests; try again in {wait_s} s", retry_after_s=wait_s)
        return await page(request)

    return limited


def _members_only(page: Page) -> Page:
    async def entered(request: Request) -> Response:
        console = console_of(request)
        key = console.visits.key_in(request, console.now_us // 1_000_000)
        if key and await log_in(request, key):
            return await page(request)
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        back = f"?next={quote(wanted)}" if request.method == "GET" and wanted != "/" else ""
        return RedirectResponse(f"/login{back}", 303)

    return entered


def _evenly(page: Page) -> Page:
    """The page; "not found" is not answered sooner than after ``ABSENT_S``, whether others have it or not."""

    async def shown(request: Request) -> Response:
        answered_at = asyncio.get_running_loop().time() + ABSENT_S
        try:
            return await page(request)
        except Refused as refusal:
            if refusal.code == "not-found":
                await asyncio.sleep(max(0.0, answered_at - asyncio.get_running_loop().time()))
            raise

    return shown


def _is_same_site(request: Request) -> bool:
    """Return True if a page of this console led here."""
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


def _same_site_only(page: Page) -> Page:
    """Refuse requests that another site sent; the cookie's SameSite rule is the second protection."""

    async def checked(request: Request) -> Response:
        site = request.headers.get("sec-fetch-site", "")
        origin = request.headers.get("origin", "")
        if not is_own_navigation(request):
            raise Refused("permission.denied", "The request came from another site; nothing was changed")
        if not site and origin and origin.partition("://")[2] != request.headers.get("host", ""):
            raise Refused("permission.denied", "The request came from another site; nothing was changed")
        return await page(request)

    return checked


def _with_csrf_check(page: Page) -> Page:
    async def checked(request: Request) -> Response:
        proof = (await read_form(request)).pop(CSRF, "") or request.headers.get("x-csrf", "")
        if not console_of(request).visits.is_own(request.state.key, proof):
            raise Refused(
                "permission.denied",
                "The form belongs to another browser session; reload the page and send the form again",
            )
        return await page(request)

    return checked


def _with_error_pages(page: Page) -> Page:
    """Return the page, or a page with the error."""

    async def guarded(request: Request) -> Response:
        try:
            return await page(request)
        except (Refused, Unavailable) as error:
            return refusal_page(request, error)
        except Exception as error:
            return _mistake_page(request, error)

    return guarded


def _mistake_page(request: Request, error: Exception) -> Response:
    """Return the page for an internal error; the log gets an id and the location, never the error's text."""
    incident = console_of(request).network.randomness.bytes(6).hex()
    places = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error(
        "console.incident: incident %s: %s failed with %s\n%s",
        incident,
        request.url.path,
        type(error).__qualname__,
        places,
        extra={"incident": incident},
    )
    detail = f"The page could not be created. Try again; if the error persists, report incident {incident}"
    return render_page(request, "refused.html", {"title": "Internal error", "code": "internal", "detail": detail}, 500)


def refusal_page(request: Request, error: Refused | Unavailable) -> Response:
    known = REFUSALS.get(error.code)
    title = known.title if known is not None else "Try again later"
    status = known.status if known is not None else 503
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else None
    return render_page(
        request, "refused.html", {"title": title, "code": error.code, "detail": error.detail}, status, headers
    )


async def missing_page(request: Request) -> Response:
    """The page for an address that does not exist, with the navigation for people who are logged in."""

    async def page(request: Request) -> Response:
        console = console_of(request)
        if key := console.visits.key_in(request, console.now_us // 1_000_000):
            await log_in(request, key)
        return render_page(request, "missing.html", status=404)

    return await _with_error_pages(_with_rate_limit(page))(request)


async def _read_form(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused("wire.unsupported", f"Send forms as {FORM}")
    caller: Caller | None = getattr(request.state, "caller", None)
    limit = FORM_BYTES if caller is not None else OPEN_FORM_BYTES
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise Refused("wire.too-large", f"A form may have at most {limit} bytes")
        pieces.append(piece)
    body = b"".join(pieces)
    if caller is None or size <= LARGE_BYTES:
        return _fields(body)
    heavy = console_of(request).network.heavy_requests
    return await heavy.run(caller.organization or caller.name, lambda: _fields(body))


def _fields(body: bytes) -> Form:
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # not UTF-8, or too many fields
        raise Refused(
            "request.malformed", "The form could not be read; reload the page and send the form again"
        ) from None
    return dict(fields)


WRONG = "Wrong e-mail address or password. Passwords are case-sensitive."


async def verify_password(request: Request, email: str, password: str) -> Caller:
    """Verify a person's e-mail address and password; failures are slowed down."""
    secure = request.scope.get("scheme") == "https"
    authenticator = console_of(request).running.authenticator
    return await authenticator.by_password(email, password, peer_address(request), secure=secure)
