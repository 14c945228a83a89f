"""Pushes to a service: shows whether they are paused, pushes one message now, and releases waiting messages."""

from __future__ import annotations

from fastapi import APIRouter, Response

from postroad.api.resources.context import Api, Asking, answer, time_or_none
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.codecs.lexical import write_time
from postroad.core.model.delivery import PushPause
from postroad.core.resources.services import PauseView, PushStateView, ReleaseView, TriedPushView
from postroad.flow.administration import pushes as pushing
from postroad.flow.administration import releases as releasing

router = APIRouter(route_class=GuardedRoute, tags=["services"])


def pause_view(pause: PushPause | None) -> PauseView | None:
    if pause is None:
        return None
    return PauseView(until=write_time(pause.until_us), failed=pause.failed, of=pause.of, reason=pause.why)


@router.get(SERVICE + "/push", **returns(PushStateView))
async def push_state(api: Api, caller: Asking, service: str) -> Response:
    """Whether pushes to a service are paused, until when and why, as this node sees it."""
    state = pushing.find_push_state(api.network, caller, service)
    return answer(
        PushStateView(service=state.service.address, paused=pause_view(state.pause), problems=list(state.problems))
    )


@router.post(SERVICE + "/push/try", **returns(TriedPushView))
async def try_push(api: Api, caller: Asking, service: str) -> Response:
    """Push the oldest waiting message at once: for developers of the service, and for the service itself.

    It is pushed even during a pause and before its retry is due, but not outside delivery windows. A success ends the
    pause, and the other waiting messages follow. The answer is returned when the push has ended.
    """
    found, tried = await pushing.try_now(api.network, caller, service)
    outcome = "nothing" if not tried.session else "delivered" if tried.is_delivered else "failed"
    return answer(
        TriedPushView(service=found.address, outcome=outcome, session=tried.session or None, reason=tried.reason)
    )


@router.post(SERVICE + "/release", **returns(ReleaseView))
async def release_service(api: Api, caller: Asking, service: str) -> Response:
    """Push all messages that wait for release at a service: for its developers, and for the service itself."""
    released = await releasing.release(api.network, caller, service)
    return answer(
        ReleaseView(
            service=released.service.address,
            going=released.going,
            not_before=time_or_none(released.not_before_us),
        )
    )
