"""Cookies: content that a service receives with every message from a given sender, visible only to its organization."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictStr

from postroad.api.resources.context import Api, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.queries import Paging
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.message import Cookie
from postroad.core.model.trust import MAX_COOKIE_CHARS, RegisteredCookie
from postroad.flow.administration import provisioning as trusting

router = APIRouter(route_class=GuardedRoute, tags=["cookies"])

COOKIES = SERVICE + "/cookies"
COOKIE = COOKIES + "/{sender:service}"


class CookieWish(StrictShape):
    content: Annotated[StrictStr, Field(min_length=1, max_length=MAX_COOKIE_CHARS, description="Text or XML")]
    content_type: Annotated[StrictStr, Field(min_length=1, max_length=200)] = "text/plain"


class CookieView(CookieWish):
    sender: Annotated[str, Field(description="GCID of the sender whose messages it is delivered with")]


class CookiePage(StrictShape):
    items: list[CookieView]
    next: str | None = None


def cookie_view(found: RegisteredCookie) -> dict[str, Any]:
    return {"sender": found.sender, "content": found.content, "contentType": found.content_type}


@router.get(COOKIES, response_model=CookiePage)
async def list_cookies(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """The cookies that a service of yours has registered."""
    found = trusting.list_cookies(caller, api.network.directory, service)
    page = make_page(request, api, caller, query, found, lambda item: item.sender)
    return page_answer(request, page._replace(items=[cookie_view(item) for item in page.items]))


@router.get(COOKIE, response_model=CookieView)
async def read_cookie(api: Api, caller: Asking, service: str, sender: str) -> Response:
    """The cookie for one sender."""
    return answer(cookie_view(trusting.find_cookie(caller, api.network.directory, service, sender)))


@router.put(COOKIE, response_model=CookieView)
async def register_cookie(api: Api, caller: Asking, service: str, sender: str, wish: CookieWish) -> Response:
    """Register the cookie that your service receives with every message from this sender; it replaces the previous one."""
    cookie = Cookie(wish.content, wish.content_type)
    known = await trusting.register_cookie(api.administration, caller, service, sender, cookie)
    return answer({"sender": known, "content": wish.content, "contentType": wish.content_type})


@router.delete(COOKIE, status_code=204)
async def remove_cookie(api: Api, caller: Asking, service: str, sender: str) -> Response:
    """Remove a cookie; messages from this sender come without it from now on."""
    await trusting.register_cookie(api.administration, caller, service, sender, None)
    return empty_answer()
