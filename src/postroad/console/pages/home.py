"""The first page: what waits, what has failed, and what to do next."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import (
    member_page,
    show,
)
from postroad.flow.administration_services import owned_services


async def home(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    services = sorted(owned_services(caller, console.directory), key=lambda service: service.address.casefold())
    return show(request, "home.html", {"services": services})


ROUTES = (member_page("/", home),)
