"""The account page: name, password, keys, and active browser sessions."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page, verify_password
from postroad.core.identity import api_key
from postroad.core.identity.expiry import BROWSER, DAY_US, LOGIN, SELF_EXPIRING, credential_warning
from postroad.core.model.directory import CredentialKind
from postroad.errors import Refused
from postroad.flow.administration import accounts

KEY_DAYS = 365
NOT_YOURS = "Wrong password. Passwords are case-sensitive."


async def account_page(request: Request) -> Response:
    return await _account_page(request)


async def rename(request: Request) -> Response:
    console, person = console_of(request), accounts.require_person(caller_of(request))
    await accounts.rename(console.administration, person, (await read_form(request)).get("name", "").strip(), None)
    return redirect("/account", "Name changed.")


async def set_password(request: Request) -> Response:
    console, person, form = console_of(request), accounts.require_person(caller_of(request)), await read_form(request)
    try:
        if accounts.has_password(console.directory, person):
            await verify_password(request, person.email, form.get("current", ""))
        key = api_key.key_id(request.state.key) or ""
        await accounts.set_password(console.administration, person, form.get("password", ""), key)
    except Refused as refusal:
        if refusal.code not in ("authentication.required", "password.weak", "value.invalid"):
            raise
        return await _account_page(request, password_fault=_describe_refusal(refusal))
    return redirect("/account", "Password changed; all your other logins have ended.")


async def make_key(request: Request) -> Response:
    """Show the new key on this page, once."""
    console, person = console_of(request), accounts.require_person(caller_of(request))
    form = await read_form(request)
    label = form.get("label", "").strip()
    until_us = console.now_us + KEY_DAYS * DAY_US
    try:
        if accounts.has_password(console.directory, person):  # a browser left open is worth a visit, not a year
            await verify_password(request, person.email, form.get("current", ""))
        key, _ = await accounts.make_key(console.administration, person, label, until_us)
    except Refused as refusal:
        if refusal.code not in ("authentication.required", "name.taken", "value.invalid"):
            raise
        return await _account_page(request, key_fault=_describe_refusal(refusal), label=label)
    return await _account_page(request, new_key=key)


async def end_key(request: Request) -> Response:
    console, person = console_of(request), accounts.require_person(caller_of(request))
    await accounts.revoke(console.administration, person, request.path_params["key_id"], "key revoked")
    return redirect("/account", "Ended.")


def _describe_refusal(refusal: Refused) -> str:
    """Return the refusal's text for a logged-in person, who has entered no e-mail address here."""
    return NOT_YOURS if refusal.code == "authentication.required" else refusal.detail


async def _account_page(request: Request, **more: str) -> Response:
    console, person = console_of(request), accounts.require_person(caller_of(request))
    person = console.directory.person(person.email) or person
    owned = [item for item in console.directory.credentials_of(person=person.email) if item.kind is CredentialKind.KEY]
    owned.sort(key=lambda item: item.created_at_us, reverse=True)
    values = {
        "person": person,
        "visits": [item for item in owned if item.label in (LOGIN, BROWSER) and item.expires_at_us > console.now_us],
        "keys": [(item, credential_warning(item, console.now_us)) for item in owned if item.label not in SELF_EXPIRING],
        "this_visit": api_key.key_id(request.state.key) or "",
        "has_password": accounts.has_password(console.directory, person),
        "new_key": "",
        "key_fault": "",
        "label": "",
        "password_fault": "",
    }
    status = 422 if "key_fault" in more or "password_fault" in more else 200
    return render_page(request, "account.html", values | more, status)


ROUTES = (
    member_page("/account", account_page),
    member_form("/account/name", rename),
    member_form("/account/password", set_password),
    member_form("/account/keys", make_key),
    member_form("/account/keys/{key_id}/end", end_key),
)
