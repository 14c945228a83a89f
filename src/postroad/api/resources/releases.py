"""Releases the messages that are waiting for release at a service."""

from __future__ import annotations

from fastapi import APIRouter, Response

from postroad.api.resources.context import Api, Asking, answer, time_or_none
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.resources.services import ReleaseView
from postroad.flow.administration import releases as releasing

router = APIRouter(route_class=GuardedRoute, tags=["services"])


@router.post(SERVICE + "/release", **returns(ReleaseView))
async def release_service(api: Api, caller: Asking, service: str) -> Response:
    """Push everything that is held back for a service: for its developers, and for the service itself."""
    released = await releasing.release(api.network, caller, service)
    return answer(
        ReleaseView(
            service=released.service.address,
            going=released.going,
            not_before=time_or_none(released.not_before_us),
        )
    )
