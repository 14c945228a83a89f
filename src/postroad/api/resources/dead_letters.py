"""Dead letters: list those of your organization, and resend or drop them, one by one or by filter.

Many are processed a page at a time, so that the client controls the pace and can stop; a cursor leads from page to
page. The cursor contains pseudonyms of numbers, because the real numbers could reveal hidden information.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from postroad.api.pagination import CursorPage, question_key
from postroad.api.resources import dead_letter_views as views
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import LETTER, LETTERS
from postroad.api.resources.route_guards import HistoryRoute
from postroad.core.model.caller import Caller
from postroad.core.model.dead_letter_actions import LETTER_ACTIONS, LetterAction
from postroad.core.resources.dead_letters import (
    LetterCount,
    LetterDetails,
    LetterGroupList,
    LetterPage,
    LetterResultPage,
    ResentLetter,
)
from postroad.flow.administration import dead_letters as dealing
from postroad.flow.administration import dead_letters as reading
from postroad.flow.administration.dead_letters import MAX_NUMBER, DeadLetterSearch

router = APIRouter(route_class=HistoryRoute, tags=["dead letters"])

Delivery = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Number of the delivery, as in the list")]
Many = views.ResendMany | views.DropMany


@router.get(LETTERS, **returns(LetterPage))
async def list_dead_letters(
    request: Request, api: Api, caller: Asking, query: Annotated[views.LetterQuery, Query()]
) -> Response:
    """Messages from and to your services that failed permanently and were neither resent nor dropped; oldest first."""
    asked = question_key(caller.name, request)
    after, upto = _position(api, asked, query.cursor)
    page = await reading.browse(api.network, caller, query.wish(after, upto, query.limit))
    following = _cursor(api, asked, page.next_after, upto)
    return page_answer(request, CursorPage([views.letter_view(found.letter) for found in page.found], following))


@router.get(LETTERS + "/groups", **returns(LetterGroupList))
async def group_dead_letters(api: Api, caller: Asking, query: Annotated[views.GroupQuery, Query()]) -> Response:
    """How many there are at each service, by cause; the largest group first."""
    groups, complete = await reading.list_letter_groups(api.network, caller, query.wish(0, MAX_NUMBER, 1))
    return answer(LetterGroupList(items=groups, complete=complete))


@router.get(LETTER, **returns(LetterDetails))
async def read_dead_letter(api: Api, caller: Asking, delivery: Delivery) -> Response:
    """One dead letter: what happened where it failed, and its parts."""
    return answer(views.details_view(await reading.inspect(api.network, caller, delivery)))


def _endpoint_for_many(action: LetterAction) -> Callable[..., Awaitable[Response]]:
    """Return the function behind an action's URL; FastAPI reads the parameters from its signature."""

    async def resend_many(request: Request, api: Api, caller: Asking, wish: views.ResendMany) -> Response:
        return await _act_on_many(request, api, caller, action, wish, expires_in_s=wish.expires_in_s)

    async def drop_many(request: Request, api: Api, caller: Asking, wish: views.DropMany) -> Response:
        return await _act_on_many(request, api, caller, action, wish)

    return resend_many if action.begins_round else drop_many


def _endpoint_for_one(action: LetterAction) -> Callable[..., Awaitable[Response]]:
    async def resend_one(api: Api, caller: Asking, delivery: Delivery, wish: views.ResendWish) -> Response:
        dealt = await dealing.act(
            api.network, caller, action, delivery, reason=wish.reason, expires_in_s=wish.expires_in_s
        )
        return answer(ResentLetter(delivery=dealt.delivery))

    async def drop_one(api: Api, caller: Asking, delivery: Delivery, wish: views.DropWish) -> Response:
        await dealing.act(api.network, caller, action, delivery, reason=wish.reason)
        return empty_answer()

    return resend_one if action.begins_round else drop_one


for one in LETTER_ACTIONS.values():
    router.add_api_route(
        f"{LETTERS}/{one.name}",
        _endpoint_for_many(one),
        methods=["POST"],
        name=f"{one.name}_dead_letters",
        description=one.of_many,
        **returns(LetterResultPage | LetterCount),
    )
for one in LETTER_ACTIONS.values():
    result: dict[str, Any] = (
        returns(ResentLetter) if one.begins_round else {"status_code": 204, "response_class": Response}
    )
    router.add_api_route(
        f"{LETTER}/{one.name}",
        _endpoint_for_one(one),
        methods=["POST"],
        name=f"{one.name}_dead_letter",
        description=one.of_one,
        **result,
    )


async def _act_on_many(
    request: Request, api: ApiContext, caller: Caller, action: LetterAction, wish: Many, *, expires_in_s: int = 0
) -> Response:
    asked, meant = _meant(request, api, caller, wish)
    if wish.dry_run:
        return answer(views.count_view(await reading.count(api.network, caller, meant)))
    page = await dealing.act_on_many(api.network, caller, action, meant, reason=wish.reason, expires_in_s=expires_in_s)
    return _dealt(api, asked, page)


def _meant(request: Request, api: ApiContext, caller: Caller, wish: Many) -> tuple[str, DeadLetterSearch]:
    """The question without its place, and the letters of this page."""
    filters = wish.model_dump_json(include=set(views.Filters.model_fields) | {"all"})
    asked = f"{caller.name}\0{request.url.path}\0{filters}"
    after, upto = _position(api, asked, wish.cursor)
    return asked, wish.wish(after, upto, wish.limit)


def _dealt(api: ApiContext, asked: str, page: dealing.LetterOutcomePage) -> Response:
    following = _cursor(api, asked, page.next_after, page.upto)
    return answer(LetterResultPage(items=[views.result_view(dealt) for dealt in page.dealt], next=following))


def _position(api: ApiContext, asked: str, cursor: str) -> tuple[int, int]:
    """Behind which number the page begins, and with which it ends at the latest."""
    position = api.cursors.read(asked, cursor)
    if not position:
        return 0, MAX_NUMBER
    after, upto = (api.network.tokens.pseudonyms.real_number(int(number)) for number in position.split())
    return after, upto or MAX_NUMBER


def _cursor(api: ApiContext, asked: str, after: int | None, upto: int) -> str | None:
    if after is None:
        return None
    pseudonyms = api.network.tokens.pseudonyms
    return api.cursors.write(
        asked, f"{pseudonyms.number(after)} {pseudonyms.number(0 if upto == MAX_NUMBER else upto)}"
    )
