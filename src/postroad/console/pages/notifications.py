"""The notifications page: subscriptions with the status of their channels, test notifications, and the page to unsubscribe."""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import (
    member_form,
    member_page,
    public_form,
    public_page,
    read_form,
    redirect,
    render_page,
)
from postroad.core.configuration.document import plain_error_text
from postroad.core.configuration.entries.subscriptions import SubscriptionEntry
from postroad.core.model.directory import Role
from postroad.core.model.subscription import DIGEST_MINUTES, Channel, Severity, Subscription
from postroad.core.notifications.catalog import EVENTS, Audience
from postroad.errors import Refused
from postroad.flow.administration import notifications as subscribing
from postroad.flow.notifications.channels import signing_secret

HERE = "/notifications"
OF_THE_FORM = ("value.invalid", "name.invalid")
SUGGESTED = {"name": "owners", "channel": Channel.EMAIL.value, "leastSeverity": "warning", "digestMinutes": "15"}


async def show_subscriptions(request: Request) -> Response:
    return await _shown(request)


async def add(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    try:
        wanted = _read_subscription(form, caller.organization, request)
        saved = await subscribing.save_subscription(console.administration, caller, wanted)
    except Refused as refusal:
        if refusal.code not in OF_THE_FORM:
            raise
        return await _shown(request, refusal.detail, form)
    return redirect(HERE, f"{saved.name} was saved. Send a test to see whether it arrives.")


async def remove(request: Request) -> Response:
    console, caller, name = console_of(request), caller_of(request), request.path_params["name"]
    await subscribing.remove_subscription(console.administration, caller, caller.organization, name)
    return redirect(HERE, f"{name} was removed.")


async def send_test(request: Request) -> Response:
    console, caller, name = console_of(request), caller_of(request), request.path_params["name"]
    fault = await subscribing.send_test(console.administration, caller, caller.organization, name)
    if fault:
        return await _shown(request, f"The test to {name} could not be sent: {fault}")
    return redirect(HERE, f"The test to {name} was sent.")


def _read_subscription(form: Any, organization: str, request: Request) -> Subscription:
    """Return the subscription of the form; raises Refused with what is wrong."""
    wish = {
        "channel": form.get("channel", ""),
        "address": form.get("address", "").strip(),
        "events": [kind.name for kind in EVENTS if f"event-{kind.name}" in form],
        "leastSeverity": form.get("leastSeverity", ""),
        "digestMinutes": _number(form.get("digestMinutes", "")),
    }
    try:
        entry = SubscriptionEntry.model_validate_json(_json(wish))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        text = plain_error_text(first["msg"])
        raise Refused("value.invalid", f"{FIELDS.get(field, field)} {text}" if field else text) from None
    return entry.subscription(organization, form.get("name", "").strip())


FIELDS = {
    "channel": "The channel",
    "address": "The address",
    "leastSeverity": "The severity",
    "digestMinutes": "The digest time",
}


def _json(wish: dict[str, Any]) -> bytes:
    return msgspec.json.encode(wish)


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else text


async def _shown(request: Request, fault: str = "", form: Any = None) -> Response:
    console, caller = console_of(request), caller_of(request)
    found = subscribing.list_subscriptions(caller, console.directory, caller.organization)
    health = await console.network.notifications.read_health(*(one.key for one in found))
    may_change = caller.operator or caller.has_role(caller.organization, Role.OWNER)
    audience = Audience.OPERATORS if caller.operator else Audience.ORGANIZATION
    tokens = console.network.tokens
    values = {
        "found": [
            (one, health[one.key], signing_secret(tokens, one) if may_change and one.channel is Channel.WEBHOOK else "")
            for one in found
        ],
        "events": [kind for kind in EVENTS if caller.operator or kind.audience is audience],
        "channels": [one.value for one in Channel],
        "severities": [one.value for one in Severity],
        "may_change": may_change,
        "has_mail": console.network.mail.is_available,
        "wish": form
        if form is not None
        else SUGGESTED | {"address": caller.name, "digestMinutes": str(DIGEST_MINUTES)},
        "fault": fault,
    }
    return render_page(request, "notifications.html", values, 422 if fault else 200)


async def unsubscribe_page(request: Request) -> Response:
    """Ask whether to end a subscription; opening the link changes nothing, because mail scanners open links too."""
    console, token = console_of(request), request.query_params.get("token", "")
    found = subscribing.find_unsubscribed(console.network.tokens, console.directory, token)
    values = {"found": found, "token": token, "ended": False}
    return render_page(request, "unsubscribe.html", values, 200 if found is not None else 404)


async def unsubscribe(request: Request) -> Response:
    """End the subscription of an e-mail; mail programs post here by themselves (RFC 8058), without login or cookies."""
    token = request.query_params.get("token", "")
    found = await subscribing.unsubscribe(console_of(request).administration, token)
    values = {"found": found, "token": token, "ended": found is not None}
    return render_page(request, "unsubscribe.html", values, 200 if found is not None else 404)


ROUTES: tuple[Route, ...] = (
    member_page(HERE, show_subscriptions),
    member_form(HERE, add),
    public_page(f"{HERE}/unsubscribe", unsubscribe_page),
    public_form(f"{HERE}/unsubscribe", unsubscribe),
    member_form(HERE + "/{name}/test", send_test),
    member_form(HERE + "/{name}/remove", remove),
)
