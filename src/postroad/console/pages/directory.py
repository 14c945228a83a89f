"""The directory pages: search services, and how to call one.

Sample calls are one message in JSON, in SOAP and as a command, with this network's address. Rule: they are written by
the codecs that read them, so their syntax is always valid.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_page, render_page
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP12
from postroad.core.model.directory import Role, Service, Visibility
from postroad.core.model.message import Argument, Message, MessageType, Part, Recipient
from postroad.flow.administration import services
from postroad.flow.administration.base import find_visible_service

DOCUMENT = b'{"order": 4711, "items": [{"sku": "A-1", "quantity": 2}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSamples:
    json: str
    soap: str
    curl: str
    command: str


def make_call_samples(service: Service, url: str) -> CallSamples:
    arguments = tuple([Argument(one.name, f"<{one.name}>") for one in service.arguments if one.required])
    message = Message(
        to=(Recipient(service.address, arguments),),
        type=MessageType.NOTIFICATION,
        handle="order-4711",
        parts=(Part(id="order", content_type="application/json", data=DOCUMENT),),
    )
    body = json.dumps(json.loads(JSON_FORM.encode_post(message)), indent=2, ensure_ascii=False)
    envelope = SOAP12.encode_post(message).decode().replace("><", ">\n<")
    return CallSamples(
        json=body,
        soap=envelope,
        curl=_curl(url, body),
        command=f"postroad post --to {shlex.quote(service.address)} --handle order-4711 order.json",
    )


def _curl(url: str, body: str) -> str:
    lines = (
        f"curl {url}/v1/messages",
        '-H "Authorization: Bearer $POSTROAD_KEY"',
        '-H "Content-Type: application/json"',
        f"--data {shlex.quote(body)}",
    )
    return " \\\n  ".join(lines)


PAGE = 50
ASKED = ("text", "category", "format", "operation")


async def search(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    wish = {name: request.query_params.get(name, "").strip()[:200] for name in ASKED}
    found = services.list_visible_services(
        caller,
        console.directory,
        text=wish["text"],
        category=wish["category"],
        format_=wish["format"],
        operation=wish["operation"],
    )
    found.sort(key=lambda service: service.address.casefold())
    page = _page(request)
    public = [one for one in console.directory.services.values() if one.visibility is Visibility.PUBLIC]
    values = {
        "wish": wish,
        "found": found[page * PAGE : (page + 1) * PAGE],
        "count": len(found),
        "categories": sorted({one.category for one in public if one.category}, key=str.casefold),
        "formats": sorted({one.format for one in public}),
        "following": f"?{urlencode(wish | {'page': page + 1})}" if len(found) > (page + 1) * PAGE else "",
        "preceding": f"?{urlencode(wish | {'page': page - 1})}" if page else "",
    }
    return render_page(request, "directory.html", values)


async def how_to_call(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    service = find_visible_service(caller, console.directory, request.path_params["gcid"])
    url = console.running.own_address.url
    values = {
        "service": service,
        "samples": make_call_samples(service, url),
        "url": url,
        "is_own": caller.can_view(service.organization),
        "may_connect": bool(service.provisioning_url) and caller.has_role(caller.organization, Role.DEVELOPER),
        "is_suspended": console.directory.is_suspended(service),
    }
    return render_page(request, "directory_service.html", values)


def _page(request: Request) -> int:
    text = request.query_params.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


ROUTES = (
    member_page("/directory", search),
    member_page("/directory/{gcid}", how_to_call),
)
