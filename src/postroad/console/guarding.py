"""What stands before every page: how often somebody may ask, who they are, and that no other site made their browser ask.

Kept rules: a page for members leads whoever is not logged in to the login and back, and only to addresses of this network; a form
is taken from the visit that it was shown to, and from no other site; what goes wrong is told on a page, with what to do next.
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
from postroad.console.editing import READ_AT_ONCE, read_ahead
from postroad.core.model.caller import Caller
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.administration import ABSENT_S
from postroad.flow.authenticate import Proof
from postroad.flow.reading import LARGE_BYTES
from postroad.flow.registration import check_approved
from postroad.flow.throttle import neighbourhood
from postroad.flow.trial_turns import act_for

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 2 << 20  # rules, stylesheets and messages are pasted into forms
OPEN_FORM_BYTES = 16 << 10  # of people who are not logged in: names, addresses and passwords
FIELDS_MOST = 500
CSRF = "csrf"
OWN_ACCOUNT = ("/account", "/logout")  # what people change of themselves
SAME = ("same-origin", "none")
ELSEWHERE = ("//", "/login")  # another host; and what would log in as somebody else, or not end

log = logging.getLogger(__name__)

Page = Callable[[Request], Awaitable[Response]]
Form = dict[str, str]


def opened(path: str, page: Page, name: str = "") -> Route:
    """A page for everybody."""
    return Route(path, _told(_limited(page)), methods=["GET"], name=name or None)


def member_page(path: str, page: Page, name: str = "") -> Route:
    """A page for people who are logged in."""
    return Route(path, _told(_limited(_for_members(_evenly(page)))), methods=["GET"], name=name or None)


def opened_form(path: str, page: Page) -> Route:
    """A form that everybody may send."""
    return Route(path, _told(_limited(_from_here(page))), methods=["POST"])


def member_form(path: str, page: Page) -> Route:
    """A form for people who are logged in; what it carries is read by ``form_of``."""
    return Route(path, _told(_limited(_for_members(_from_here(_of_this_visit(_evenly(page)))))), methods=["POST"])


def show(
    request: Request,
    template: str,
    values: Mapping[str, Any] | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page with what the frame around every page needs."""
    console = console_of(request)
    caller: Caller | None = getattr(request.state, "caller", None)
    frame = {
        "person": caller.person if caller is not None else None,
        "caller": caller,
        "path": request.url.path,
        "csrf": console.visits.csrf(request.state.key) if caller is not None else "",
        "told": request.query_params.get("done", "")[:200] if _is_from_here(request) else "",
        "now_us": console.now_us,
    }
    response = console.rendering.page(template, frame | dict(values or {}), status, headers)
    if caller is not None and console.visits.is_old(request, console.now_us // 1_000_000):
        console.visits.begin(request, response, request.state.key, console.now_us // 1_000_000)
    return response


def go(path: str, done: str = "") -> Response:
    """After a form the browser asks anew, so that loading a page again sends nothing twice; ``done`` is told there."""
    joint = "&" if "?" in path else "?"
    return RedirectResponse(f"{path}{joint}done={quote(done)}" if done else path, 303)


async def form_of(request: Request) -> Form:
    """The fields of a form; of several with one name, the last."""
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
        await console_of(request).network.heavy_requests.run(who, lambda: read_ahead(long))


def is_part(request: Request) -> bool:
    """Whether a script asks for a part of the page."""
    return request.headers.get("hx-request") == "true"


def is_led_by_us(request: Request) -> bool:
    """Whether no other site has led the browser here, as far as it says."""
    return request.headers.get("sec-fetch-site", "none") in SAME


def own_path(text: str) -> str:
    """An address within this console to go back to; the first page where it could be anything else."""
    fits = text.startswith("/") and not text.startswith(ELSEWHERE) and text.isprintable() and len(text) <= 1_000
    return text if fits and "\\" not in text else "/"


async def log_in(request: Request, key: str) -> bool:
    """Whether the key in the cookie is somebody's; then the request is theirs."""
    caller = await proved_by(request, key)
    if caller is not None:
        request.state.caller, request.state.key = caller, key
        act_for(caller)
        if request.method == "POST" and not request.url.path.startswith(OWN_ACCOUNT):
            check_approved(caller, console_of(request).directory)
    return caller is not None


async def proved_by(request: Request, key: str) -> Caller | None:
    """The person whose key this is, as long as it holds."""
    authenticator = console_of(request).running.authenticator
    proof = Proof(b"Bearer " + key.encode(), None, request.scope.get("scheme") == "https", in_console=True)
    try:
        caller = await authenticator.authenticate(proof, peer_of(request))
    except Refused as refusal:
        if refusal.code != "authentication.required":
            raise
        return None
    return caller if caller.person is not None else None


def peer_of(request: Request) -> str:
    return request.client.host if request.client else ""


def _limited(page: Page) -> Page:
    async def limited(request: Request) -> Response:
        console = console_of(request)
        who = f"peer {neighbourhood(peer_of(request))}"
        state = console.limiter.take(who, console.network.clock.monotonic())
        if not state.allowed:
            wait_s = state.retry_after_s
            raise Refused("rate.exceeded", f"Too many requests; try again in {wait_s} s", retry_after_s=wait_s)
        return await page(request)

    return limited


def _for_members(page: Page) -> Page:
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


def _is_from_here(request: Request) -> bool:
    """Whether a page of ours led here; a link from elsewhere could put any words into our mouth."""
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


def _from_here(page: Page) -> Page:
    """Refuse what another site makes a browser send; the cookie's own rule is the other lock."""

    async def checked(request: Request) -> Response:
        site = request.headers.get("sec-fetch-site", "")
        origin = request.headers.get("origin", "")
        if not is_led_by_us(request):
            raise Refused("permission.denied", "Another site has made your browser send this; nothing was changed")
        if not site and origin and origin.partition("://")[2] != request.headers.get("host", ""):
            raise Refused("permission.denied", "Another site has made your browser send this; nothing was changed")
        return await page(request)

    return checked


def _of_this_visit(page: Page) -> Page:
    async def checked(request: Request) -> Response:
        proof = (await form_of(request)).pop(CSRF, "") or request.headers.get("x-csrf", "")
        if not console_of(request).visits.is_own(request.state.key, proof):
            raise Refused(
                "permission.denied",
                "This form was shown in another visit, or not by us; open the page again and send it",
            )
        return await page(request)

    return checked


def _told(page: Page) -> Page:
    """The page, or why there is none."""

    async def told(request: Request) -> Response:
        try:
            return await page(request)
        except (Refused, Unavailable) as error:
            return refusal_page(request, error)
        except Exception as error:
            return _mistake_page(request, error)

    return told


def _mistake_page(request: Request, error: Exception) -> Response:
    """The log has an id and the place in the code; never the error's own text, which may quote a payload."""
    incident = console_of(request).network.randomness.bytes(6).hex()
    places = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error("incident %s: %s failed with %s\n%s", incident, request.url.path, type(error).__qualname__, places)
    detail = f"The page could not be made. Try again, and if it stays so, report incident {incident}"
    return show(request, "refused.html", {"title": "Our mistake", "code": "internal", "detail": detail}, 500)


def refusal_page(request: Request, error: Refused | Unavailable) -> Response:
    known = REFUSALS.get(error.code)
    title = known.title if known is not None else "Not now"
    status = known.status if known is not None else 503
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else None
    return show(request, "refused.html", {"title": title, "code": error.code, "detail": error.detail}, status, headers)


async def missing_page(request: Request) -> Response:
    """The page for an address that does not exist, with the navigation for people who are logged in."""

    async def page(request: Request) -> Response:
        console = console_of(request)
        if key := console.visits.key_in(request, console.now_us // 1_000_000):
            await log_in(request, key)
        return show(request, "missing.html", status=404)

    return await _told(_limited(page))(request)


async def _read_form(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused("wire.unsupported", f"Forms are sent as {FORM}")
    caller: Caller | None = getattr(request.state, "caller", None)
    limit = FORM_BYTES if caller is not None else OPEN_FORM_BYTES
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise Refused("wire.too-large", f"A form has at most {limit} bytes")
        pieces.append(piece)
    body = b"".join(pieces)
    if caller is None or size <= LARGE_BYTES:
        return _fields(body)
    heavy = console_of(request).network.heavy_requests
    return await heavy.run(caller.organization or caller.name, lambda: _fields(body))


def _fields(body: bytes) -> Form:
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=FIELDS_MOST, errors="strict")
    except ValueError:  # not UTF-8, or too many fields
        raise Refused("request.malformed", "The form could not be read; open the page again and resend it") from None
    return dict(fields)
