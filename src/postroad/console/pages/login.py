"""The login pages: log in by password or one-time link, new password, register, accept an invitation, log out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import (
    WRONG,
    is_own_navigation,
    member_form,
    peer_address,
    public_form,
    public_page,
    read_form,
    redirect,
    render_page,
    safe_return_path,
    verify_password,
)
from postroad.core.identity import api_key
from postroad.core.identity.expiry import BROWSER, INVITATION, LINK
from postroad.core.model.directory import Person
from postroad.core.model.refusals import status_of
from postroad.errors import Refused
from postroad.flow.access.throttle import normalize_peer
from postroad.flow.administration import account_mails, accounts


async def login_page(request: Request) -> Response:
    return render_page(
        request,
        "login.html",
        {"next": safe_return_path(request.query_params.get("next", "/")), "email": "", "fault": ""},
    )


async def login(request: Request) -> Response:
    form = await read_form(request)
    email, back = form.get("email", "").strip(), safe_return_path(form.get("next", "/"))
    try:
        caller = await verify_password(request, email, form.get("password", ""))
    except Refused as refusal:
        if refusal.code != "authentication.required":
            raise
        return render_page(request, "login.html", {"next": back, "email": email, "fault": WRONG}, 401)
    return await _enter(request, accounts.require_person(caller), back)


async def login_link_page(request: Request) -> Response:
    """Ask whether to log in as the person of the link; the button logs in and uses the link up.

    Opening the link changes nothing, because mail scanners, chat previews and prefetching browsers open links too.
    The question also names the account, in case another site has sent the person to this link.
    """
    key, person = _linked(request, request.query_params.get("once", ""))
    if person is None:
        return _link_over(request)
    is_from_elsewhere = not is_own_navigation(request)
    return render_page(
        request, "login_link.html", {"key": key, "linked": person, "is_from_elsewhere": is_from_elsewhere}
    )


async def log_in_by_link(request: Request) -> Response:
    """Log in with the link's key, which is used up by it."""
    key, person = _linked(request, (await read_form(request)).get("once", ""))
    return await _enter_by_link(request, key, person) if person is not None else _link_over(request)


def _linked(request: Request, key: str) -> tuple[str, Person | None]:
    console = console_of(request)
    return key, accounts.find_link_bearer(console.directory, key, LINK, console.now_us)


async def _enter_by_link(request: Request, key: str, person: Person) -> Response:
    try:
        return await _enter(request, person, "/", api_key.key_id(key) or "")
    except Refused as refusal:
        if refusal.code not in ("not-found", "version.conflict"):
            raise
        return _link_over(request)  # someone was quicker, here or at another node


def _link_over(request: Request) -> Response:
    fault = (
        "The link has been used or has expired. Log in with your password, or create a new link: postroad login-link"
    )
    return render_page(request, "login.html", {"next": "/", "email": "", "fault": fault}, 401)


def _mode(request: Request) -> str:
    return console_of(request).administration.registration.mode.value


async def register_page(request: Request) -> Response:
    return render_page(request, "register.html", {"wish": {}, "wrong": {}, "fault": "", "mode": _mode(request)})


async def register(request: Request) -> Response:
    form, console = await read_form(request), console_of(request)
    wish = {name: form.get(name, "").strip() for name in ("organization", "email", "name")}
    if wrong := accounts.find_registration_errors(**wish, password=form.get("password", "")):
        return render_page(
            request, "register.html", {"wish": wish, "wrong": wrong, "fault": "", "mode": _mode(request)}, 422
        )
    try:
        async with console.running.authenticator.registering.slot(peer_address(request)):
            owner = await accounts.register(console.administration, **wish, password=form.get("password", ""))
    except Refused as refusal:
        if refusal.code in ("rate.exceeded", "authentication.throttled"):
            raise
        field = refusal.pointer.removeprefix("/")
        wrong = {field: refusal.detail} if field in (*wish, "password") else {}
        told = {"wish": wish, "wrong": wrong, "fault": "" if wrong else refusal.detail, "mode": _mode(request)}
        return render_page(request, "register.html", told, status_of(refusal.code) if refusal.code == CLOSED else 422)
    return await _enter(request, owner, "/")


async def welcome_page(request: Request) -> Response:
    """Accept an invitation: the person chooses a password and is logged in."""
    return _welcome(request, request.query_params.get("key", ""))


async def welcome(request: Request) -> Response:
    form, console = await read_form(request), console_of(request)
    key = form.get("key", "")
    person = accounts.find_link_bearer(console.directory, key, INVITATION, console.now_us)
    if person is None:
        return _welcome(request, key, status=401)
    try:
        password, invitation = form.get("password", ""), api_key.key_id(key) or ""
        await accounts.set_password(console.administration, person, password, "", invitation)
    except Refused as refusal:
        return _welcome(request, key, refusal.detail, 422)
    return await _enter(request, person, "/")


def _welcome(request: Request, key: str, fault: str = "", status: int = 200) -> Response:
    console = console_of(request)
    invited = accounts.find_link_bearer(console.directory, key, INVITATION, console.now_us)
    return render_page(request, "welcome.html", {"key": key, "fault": fault, "invited": invited}, status)


async def forgotten_page(request: Request) -> Response:
    return render_page(request, "password_forgotten.html", _mail_values(request))


async def send_reset_link(request: Request) -> Response:
    """Send a link for a new password; the page is the same whether the address has an account or not."""
    email = (await read_form(request)).get("email", "").strip()
    if console_of(request).network.mail.is_available:
        peer = normalize_peer(peer_address(request))
        account_mails.request_password_reset(console_of(request).administration, email, peer)
    return render_page(request, "password_forgotten.html", _mail_values(request) | {"sent_to": email})


def _mail_values(request: Request) -> dict[str, object]:
    return {"has_mail": console_of(request).network.mail.is_available, "sent_to": ""}


async def reset_page(request: Request) -> Response:
    """Ask for the new password; opening the link changes nothing."""
    return _reset(request, request.query_params.get("key", ""))


async def reset(request: Request) -> Response:
    form, console = await read_form(request), console_of(request)
    key = form.get("key", "")
    try:
        person = await account_mails.reset_password(console.administration, key, form.get("password", ""))
    except Refused as refusal:
        if refusal.code == "link.expired":
            return _reset(request, key, status=401)
        return _reset(request, key, refusal.detail, 422)
    return await _enter(request, person, "/")


def _reset(request: Request, key: str, fault: str = "", status: int = 200) -> Response:
    bearer = account_mails.find_reset_bearer(console_of(request).administration, key)
    return render_page(request, "password_reset.html", {"key": key, "fault": fault, "bearer": bearer}, status)


async def logout(request: Request) -> Response:
    console = console_of(request)
    key = api_key.key_id(request.state.key) or ""
    await accounts.revoke(console.administration, accounts.require_person(caller_of(request)), key, "logout")
    response = redirect("/login", "You are logged out.")
    console.visits.end(request, response)
    return response


async def _enter(request: Request, person: Person, back: str, link: str = "") -> Response:
    """Start a new browser session, replacing any earlier key of the browser."""
    console = console_of(request)
    key, _ = await accounts.log_in(console.administration, person, link, label=BROWSER)
    response = redirect(back)
    console.visits.begin(request, response, key, console.now_us // 1_000_000)
    return response


CLOSED = "registration.closed"

ROUTES = (
    public_page("/login", login_page),
    public_form("/login", login),
    public_page("/login/link", login_link_page),
    public_form("/login/link", log_in_by_link),
    public_page("/password/forgotten", forgotten_page),
    public_form("/password/forgotten", send_reset_link),
    public_page("/password/reset", reset_page),
    public_form("/password/reset", reset),
    public_page("/register", register_page),
    public_form("/register", register),
    public_page("/welcome", welcome_page),
    public_form("/welcome", welcome),
    member_form("/logout", logout),
)
