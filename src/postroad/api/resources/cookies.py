"""Cookies: content that a service receives with every message from a given sender, visible only to its organization."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictStr

from postroad.api.pagination import Paging
from postroad.api.resources.context import Api, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.message import Cookie
from postroad.core.model.trust import MAX_COOKIE_CHARS, RegisteredCookie
from postroad.core.resources.base import build_resource
from postroad.core.resources.services import CookiePage, CookieView
from postroad.flow.administration import provisioning as trusting

router = APIRouter(route_class=GuardedRoute, tags=["cookies"])

COOKIES = SERVICE + "/cookies"
COOKIE = COOKIES + "/{sender:service}"


class CookieWish(StrictShape):
    content: Annotated[StrictStr, Field(min_length=1, max_length=MAX_COOKIE_CHARS, description="Text or XML")]
    content_type: Annotated[StrictStr, Field(min_length=1, max_length=200)] = "text/plain"


def cookie_view(found: RegisteredCookie) -> CookieView:
    return build_resource(CookieView, found)


@router.get(COOKIES, **returns(CookiePage))
async def list_cookies(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """The cookies that a service of yours has registered."""
    found = trusting.list_cookies(caller, api.network.directory, service)
    page = make_page(request, api, caller, query, found, lambda item: item.sender)
    return page_answer(request, page._replace(items=[cookie_view(item) for item in page.items]))


@router.get(COOKIE, **returns(CookieView))
async def read_cookie(api: Api, caller: Asking, service: str, sender: str) -> Response:
    """The cookie for one sender."""
    return answer(cookie_view(trusting.find_cookie(caller, api.network.directory, service, sender)))


@router.put(COOKIE, **returns(CookieView))
async def register_cookie(api: Api, caller: Asking, service: str, sender: str, wish: CookieWish) -> Response:
    """Register the cookie that your service receives with every message from this sender; it replaces the previous one."""
    cookie = Cookie(wish.content, wish.content_type)
    known = await trusting.register_cookie(api.administration, caller, service, sender, cookie)
    return answer(build_resource(CookieView, wish, sender=known))


@router.delete(COOKIE, status_code=204)
async def remove_cookie(api: Api, caller: Asking, service: str, sender: str) -> Response:
    """Remove a cookie; messages from this sender come without it from now on."""
    await trusting.register_cookie(api.administration, caller, service, sender, None)
    return empty_answer()
