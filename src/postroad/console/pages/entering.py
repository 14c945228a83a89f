"""Coming in and going out: log in, with a password or a link that holds once; register; log out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import (
    form_of,
    go,
    member_form,
    opened,
    opened_form,
    own_path,
    proved_by,
    show,
)
from postroad.console.proving import WRONG, by_password
from postroad.core.identity import api_key
from postroad.core.identity.expiry import INVITATION, LINK
from postroad.core.model.directory import Person
from postroad.errors import Refused
from postroad.flow import administration_accounts as accounts


async def login_page(request: Request) -> Response:
    return show(
        request, "login.html", {"next": own_path(request.query_params.get("next", "/")), "email": "", "fault": ""}
    )


async def login(request: Request) -> Response:
    form = await form_of(request)
    email, back = form.get("email", "").strip(), own_path(form.get("next", "/"))
    try:
        caller = await by_password(request, email, form.get("password", ""))
    except Refused as refusal:
        if refusal.code != "authentication.required":
            raise
        return show(request, "login.html", {"next": back, "email": email, "fault": WRONG}, 401)
    return await _enter(request, accounts.person_of(caller), back)


async def login_by_link(request: Request) -> Response:
    """A link that the network printed when it was started: it holds once, for a few minutes, and only to make a visit of it."""
    console, key = console_of(request), request.query_params.get("once", "")
    person = await _bearer(request, key, LINK)
    if person is None:
        fault = "The link has been used, or is too old. Log in with your password, or get another: postroad login-link"
        return show(request, "login.html", {"next": "/", "email": "", "fault": fault}, 401)
    await accounts.revoke(console.administration, person, api_key.key_id(key) or "", "login link used")
    return await _enter(request, person, "/")


async def register_page(request: Request) -> Response:
    return show(request, "register.html", {"wish": {}, "fault": "", "at": ""})


async def register(request: Request) -> Response:
    form, console = await form_of(request), console_of(request)
    wish = {name: form.get(name, "").strip() for name in ("organization", "email", "name")}
    try:
        if "@" not in wish["email"]:
            raise Refused("value.invalid", "Give an e-mail address", pointer="/email")
        owner = await accounts.register(
            console.administration, wish["organization"], wish["email"], wish["name"], form.get("password", "")
        )
    except Refused as refusal:
        if refusal.code in ("rate.exceeded",):
            raise
        return show(request, "register.html", {"wish": wish, "fault": refusal.detail, "at": refusal.pointer}, 422)
    return await _enter(request, owner, "/")


async def welcome_page(request: Request) -> Response:
    """Where an invitation leads to: the person chooses a password, and is in."""
    key = request.query_params.get("key", "")
    return show(request, "welcome.html", {"key": key, "fault": "", "invited": await _bearer(request, key, INVITATION)})


async def welcome(request: Request) -> Response:
    form, console = await form_of(request), console_of(request)
    key = form.get("key", "")
    person = await _bearer(request, key, INVITATION)
    if person is None:
        return show(request, "welcome.html", {"key": key, "fault": "", "invited": None}, 401)
    try:
        await accounts.set_password(console.administration, person, form.get("password", ""), "")
    except Refused as refusal:
        return show(request, "welcome.html", {"key": key, "fault": refusal.detail, "invited": person}, 422)
    return await _enter(request, person, "/")


async def _bearer(request: Request, key: str, label: str) -> Person | None:
    """Whom a link is for, as long as it holds and is of that kind."""
    credential = console_of(request).directory.credentials.get(api_key.key_id(key) or "")
    if credential is None or credential.label != label:
        return None
    caller = await proved_by(request, key)
    return caller.person if caller is not None else None


async def logout(request: Request) -> Response:
    console = console_of(request)
    key = api_key.key_id(request.state.key) or ""
    await accounts.revoke(console.administration, accounts.person_of(caller_of(request)), key, "logout")
    response = go("/login", "You are logged out.")
    console.visits.end(request, response)
    return response


async def _enter(request: Request, person: Person, back: str) -> Response:
    """A new visit, whatever key the browser had before."""
    console = console_of(request)
    key, _ = await accounts.log_in(console.administration, person)
    response = go(back)
    console.visits.begin(request, response, key, console.now_us // 1_000_000)
    return response


ROUTES = (
    opened("/login", login_page),
    opened_form("/login", login),
    opened("/login/link", login_by_link),
    opened("/register", register_page),
    opened_form("/register", register),
    opened("/welcome", welcome_page),
    opened_form("/welcome", welcome),
    member_form("/logout", logout),
)
