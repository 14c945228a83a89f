"""Subscriptions to notifications: of an organization, and of the operators.

The operators' are at ``/v1/notifications``, those of an organization below it.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, tag_of, version_to_replace
from postroad.api.resources.context import (
    Api,
    ApiContext,
    Asking,
    answer,
    empty_answer,
    make_page,
    page_answer,
    time_or_none,
)
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.entries.subscriptions import SubscriptionEntry
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.subscription import OPERATORS, Channel, Subscription
from postroad.core.notifications.catalog import EVENTS, EventKind
from postroad.core.notifications.state import ChannelHealth
from postroad.core.resources.base import build_resource
from postroad.core.resources.notifications import (
    ChannelState,
    EventKindPage,
    EventKindView,
    NotificationTestResult,
    SubscriptionPage,
    SubscriptionView,
)
from postroad.flow.administration import notifications as subscribing
from postroad.flow.notifications.channels import signing_secret

router = APIRouter(route_class=GuardedRoute, tags=["notifications"])

OF_ORGANIZATION = "/v1/organizations/{organization}/notifications"
OF_OPERATORS = "/v1/notifications"
ONE = "/{subscription}"


def state_view(health: ChannelHealth) -> ChannelState:
    return ChannelState(
        sent_at=time_or_none(health.sent_at_us),
        waiting=health.waiting,
        failures=health.failures,
        fault=health.fault,
        retry_at=time_or_none(health.retry_at_us),
    )


def subscription_view(api: ApiContext, caller: Caller, found: Subscription, health: ChannelHealth) -> SubscriptionView:
    is_owner = caller.has_role(found.organization, Role.OWNER)
    secret = signing_secret(api.network.tokens, found) if is_owner and found.channel is Channel.WEBHOOK else ""
    return build_resource(
        SubscriptionView,
        found,
        channel=found.channel.value,
        events=list(found.events),
        least_severity=found.least_severity.value,
        secret=secret,
        state=state_view(health),
        version=version_of(api, found),
    )


def version_of(api: ApiContext, found: Subscription) -> int:
    return api.network.directory.object_version("subscription", found.key)


def event_view(kind: EventKind) -> EventKindView:
    return build_resource(EventKindView, kind, severity=kind.severity.value, audience=kind.audience.value)


@router.get("/v1/notification-events", **returns(EventKindPage))
async def list_events(request: Request, api: Api, caller: Asking, query: Paging) -> Response:
    """List the events that people can be notified of."""
    page = make_page(request, api, caller, query, sorted(EVENTS), lambda kind: kind.name)
    return page_answer(request, page._replace(items=[event_view(kind) for kind in page.items]))


@router.get(OF_ORGANIZATION, **returns(SubscriptionPage))
async def list_subscriptions(request: Request, api: Api, caller: Asking, organization: str, query: Paging) -> Response:
    """List the subscriptions of an organization, and the status of their channels."""
    return await _list(request, api, caller, organization, query)


@router.get(OF_OPERATORS, **returns(SubscriptionPage))
async def list_operator_subscriptions(request: Request, api: Api, caller: Asking, query: Paging) -> Response:
    """List the subscriptions of the operators, and the status of their channels."""
    return await _list(request, api, caller, OPERATORS, query)


@router.get(OF_ORGANIZATION + ONE, **returns(SubscriptionView))
async def read_subscription(api: Api, caller: Asking, organization: str, subscription: str) -> Response:
    """Return one subscription of an organization."""
    return await _read(api, caller, organization, subscription)


@router.get(OF_OPERATORS + ONE, **returns(SubscriptionView))
async def read_operator_subscription(api: Api, caller: Asking, subscription: str) -> Response:
    """Return one subscription of the operators."""
    return await _read(api, caller, OPERATORS, subscription)


@router.put(OF_ORGANIZATION + ONE, **returns(SubscriptionView))
async def save_subscription(
    api: Api, caller: Asking, organization: str, subscription: str, wish: SubscriptionEntry, if_match: IfMatch = None
) -> Response:
    """Save a subscription under its name. Owners only; replacing one needs If-Match."""
    return await _save(api, caller, organization, subscription, wish, if_match)


@router.put(OF_OPERATORS + ONE, **returns(SubscriptionView))
async def save_operator_subscription(
    api: Api, caller: Asking, subscription: str, wish: SubscriptionEntry, if_match: IfMatch = None
) -> Response:
    """Save a subscription of the operators under its name; replacing one needs If-Match."""
    return await _save(api, caller, OPERATORS, subscription, wish, if_match)


@router.delete(OF_ORGANIZATION + ONE, status_code=204)
async def remove_subscription(
    api: Api, caller: Asking, organization: str, subscription: str, if_match: IfMatch = None
) -> Response:
    """Remove a subscription; what has not been sent is dropped."""
    return await _remove(api, caller, organization, subscription, if_match)


@router.delete(OF_OPERATORS + ONE, status_code=204)
async def remove_operator_subscription(
    api: Api, caller: Asking, subscription: str, if_match: IfMatch = None
) -> Response:
    """Remove a subscription of the operators; what has not been sent is dropped."""
    return await _remove(api, caller, OPERATORS, subscription, if_match)


@router.post(OF_ORGANIZATION + ONE + "/test", **returns(NotificationTestResult))
async def send_test(api: Api, caller: Asking, organization: str, subscription: str) -> Response:
    """Send a test notification now, and report whether it was accepted. At most 10 an hour."""
    return await _test(api, caller, organization, subscription)


@router.post(OF_OPERATORS + ONE + "/test", **returns(NotificationTestResult))
async def send_operator_test(api: Api, caller: Asking, subscription: str) -> Response:
    """Send a test notification to the operators now, and report whether it was accepted. At most 10 an hour."""
    return await _test(api, caller, OPERATORS, subscription)


async def _list(request: Request, api: ApiContext, caller: Caller, organization: str, query: Paging) -> Response:
    found = subscribing.list_subscriptions(caller, api.network.directory, organization)
    page = make_page(request, api, caller, query, found, lambda one: one.name.casefold())
    health = await api.network.notifications.read_health(*(one.key for one in page.items))
    views = [subscription_view(api, caller, one, health[one.key]) for one in page.items]
    return page_answer(request, page._replace(items=views))


async def _read(api: ApiContext, caller: Caller, organization: str, name: str) -> Response:
    return await _answer(api, caller, subscribing.find_subscription(caller, api.network.directory, organization, name))


async def _save(
    api: ApiContext, caller: Caller, organization: str, name: str, wish: SubscriptionEntry, if_match: str | None
) -> Response:
    owner = subscribing.resolve_organization(caller, api.network.directory, organization)
    wanted = wish.subscription(owner, name)
    existing = wanted.key in api.network.directory.subscriptions
    seen = version_to_replace(if_match, None, version_of(api, wanted), exists=existing)
    return await _answer(api, caller, await subscribing.save_subscription(api.administration, caller, wanted, seen))


async def _answer(api: ApiContext, caller: Caller, found: Subscription) -> Response:
    health = await api.network.notifications.read_health(found.key)
    view = subscription_view(api, caller, found, health[found.key])
    return answer(view, tag=tag_of(view.version))


async def _remove(api: ApiContext, caller: Caller, organization: str, name: str, if_match: str | None) -> Response:
    found = subscribing.find_subscription(caller, api.network.directory, organization, name)
    seen = check_if_match(if_match, version_of(api, found))
    await subscribing.remove_subscription(api.administration, caller, organization, name, seen)
    return empty_answer()


async def _test(api: ApiContext, caller: Caller, organization: str, name: str) -> Response:
    fault = await subscribing.send_test(api.administration, caller, organization, name)
    return answer(NotificationTestResult(sent=not fault, fault=fault))
