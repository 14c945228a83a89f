"""Releases the messages that are waiting for release at a service."""

from __future__ import annotations

from fastapi import APIRouter, Response

from postroad.api.resources.context import Api, Asking, answer, time_or_none
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.flow.administration import releases as releasing

router = APIRouter(route_class=GuardedRoute, tags=["services"])


class ReleaseView(StrictShape):
    """The held messages that are being sent now."""

    service: str
    going: int
    not_before: str | None = None


@router.post(SERVICE + "/release", response_model=ReleaseView)
async def release_service(api: Api, caller: Asking, service: str) -> Response:
    """Push all messages that wait for release at a service: for its developers, and for the service itself."""
    released = await releasing.release(api.network, caller, service)
    view = {"service": released.service.address, "going": released.going}
    return answer(view | {"notBefore": time_or_none(released.not_before_us)})
