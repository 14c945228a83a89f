"""Pushes to a service: shows whether they are paused, and pushes one message now."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from postroad.api.resources.context import Api, Asking, answer
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.push_pause import PushPause
from postroad.flow.administration import pushes as pushing

router = APIRouter(route_class=GuardedRoute, tags=["services"])


class PauseView(StrictShape):
    """Most pushes failed, so only one message a minute is pushed."""

    until: Annotated[str, Field(description="When the next message is pushed")]
    failed: int
    of: Annotated[int, Field(description="How many of the last pushes are counted")]
    reason: str


class PushStateView(StrictShape):
    service: str
    paused: PauseView | None = None
    problems: Annotated[list[str], Field(description="What is wrong with its push settings on this server")]


class TriedPushView(StrictShape):
    """The result of an immediate push."""

    service: str
    outcome: Annotated[str, Field(description="`delivered`, `failed`, or `nothing` when nothing was pushed")]
    session: Annotated[str | None, Field(description="Of the message that was pushed")] = None
    reason: Annotated[str, Field(description="Why it failed, or why nothing was pushed")] = ""


def pause_view(pause: PushPause | None) -> dict[str, object] | None:
    if pause is None:
        return None
    return {"until": write_time(pause.until_us), "failed": pause.failed, "of": pause.of, "reason": pause.why}


@router.get(SERVICE + "/push", response_model=PushStateView)
async def push_state(api: Api, caller: Asking, service: str) -> Response:
    """Whether pushes to a service are paused, until when and why, as this node sees it."""
    state = pushing.find_push_state(api.network, caller, service)
    view = {"service": state.service.address, "paused": pause_view(state.pause), "problems": list(state.problems)}
    return answer(view)


@router.post(SERVICE + "/push/try", response_model=TriedPushView)
async def try_push(api: Api, caller: Asking, service: str) -> Response:
    """Push the oldest waiting message at once: for developers of the service, and for the service itself.

    It is pushed even during a pause and before its retry is due, but not outside delivery windows. A success ends the
    pause, and everything else that waits follows. The answer is returned when the push has ended.
    """
    found, tried = await pushing.try_now(api.network, caller, service)
    outcome = "nothing" if not tried.session else "delivered" if tried.is_delivered else "failed"
    view = {"service": found.address, "outcome": outcome, "session": tried.session or None, "reason": tried.reason}
    return answer(view)
