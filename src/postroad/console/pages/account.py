"""One's own account: name, password, keys, and the browsers in which one is logged in."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import (
    form_of,
    go,
    member_form,
    member_page,
    show,
)
from postroad.console.proving import by_password
from postroad.core.identity import api_key
from postroad.core.identity.expiry import BROWSER, DAY_US, LOGIN, OF_THE_NETWORK, credential_warning
from postroad.core.model.directory import CredentialKind
from postroad.errors import Refused
from postroad.flow import administration_accounts as accounts

KEY_DAYS = 365
NOT_YOURS = "Your password is wrong. Check it letter by letter; small letters are not capitals."


async def account_page(request: Request) -> Response:
    return await _shown(request)


async def rename(request: Request) -> Response:
    console, person = console_of(request), accounts.person_of(caller_of(request))
    await accounts.rename(console.administration, person, (await form_of(request)).get("name", "").strip(), None)
    return go("/account", "Your name is changed.")


async def set_password(request: Request) -> Response:
    console, person, form = console_of(request), accounts.person_of(caller_of(request)), await form_of(request)
    try:
        if accounts.has_password(console.directory, person):
            await by_password(request, person.email, form.get("current", ""))
        key = api_key.key_id(request.state.key) or ""
        await accounts.set_password(console.administration, person, form.get("password", ""), key)
    except Refused as refusal:
        if refusal.code not in ("authentication.required", "password.weak", "value.invalid"):
            raise
        return await _shown(request, password_fault=_told(refusal))
    return go("/account", "Your password is changed; every other login has ended.")


async def make_key(request: Request) -> Response:
    """The key is on this very page and never again, so the browser is not sent elsewhere."""
    console, person = console_of(request), accounts.person_of(caller_of(request))
    form = await form_of(request)
    label = form.get("label", "").strip()
    until_us = console.now_us + KEY_DAYS * DAY_US
    try:
        if accounts.has_password(console.directory, person):  # a browser left open is worth a visit, not a year
            await by_password(request, person.email, form.get("current", ""))
        key, _ = await accounts.make_key(console.administration, person, label, until_us)
    except Refused as refusal:
        if refusal.code not in ("authentication.required", "name.taken", "value.invalid"):
            raise
        return await _shown(request, key_fault=_told(refusal), label=label)
    return await _shown(request, new_key=key)


async def end_key(request: Request) -> Response:
    console, person = console_of(request), accounts.person_of(caller_of(request))
    await accounts.revoke(console.administration, person, request.path_params["key_id"], "key revoked")
    return go("/account", "It has ended.")


def _told(refusal: Refused) -> str:
    """Whoever is logged in has typed no e-mail here that could be wrong."""
    return NOT_YOURS if refusal.code == "authentication.required" else refusal.detail


async def _shown(request: Request, **more: str) -> Response:
    console, person = console_of(request), accounts.person_of(caller_of(request))
    person = console.directory.person(person.email) or person
    owned = [item for item in console.directory.credentials_of(person=person.email) if item.kind is CredentialKind.KEY]
    owned.sort(key=lambda item: item.created_at_us, reverse=True)
    values = {
        "person": person,
        "visits": [item for item in owned if item.label in (LOGIN, BROWSER) and item.expires_at_us > console.now_us],
        "keys": [
            (item, credential_warning(item, console.now_us)) for item in owned if item.label not in OF_THE_NETWORK
        ],
        "this_visit": api_key.key_id(request.state.key) or "",
        "has_password": accounts.has_password(console.directory, person),
        "new_key": "",
        "key_fault": "",
        "label": "",
        "password_fault": "",
    }
    status = 422 if "key_fault" in more or "password_fault" in more else 200
    return show(request, "account.html", values | more, status)


ROUTES = (
    member_page("/account", account_page),
    member_form("/account/name", rename),
    member_form("/account/password", set_password),
    member_form("/account/keys", make_key),
    member_form("/account/keys/{key_id}/end", end_key),
)
