"""The state of the pushes to a service."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Resource


class PauseView(Resource, kw_only=True):
    """Most pushes failed, so only one message a minute is pushed."""

    until: Annotated[str, Meta(description="When the next message is pushed")]
    failed: int
    of: Annotated[int, Meta(description="Number of the last pushes that are counted")]
    reason: str


class PushStateView(Resource, kw_only=True):
    """Whether pushes to a service are paused."""

    service: str
    paused: PauseView | None = None
    problems: Annotated[list[str], Meta(description="Problems of its push settings on this server")]


class TriedPushView(Resource, kw_only=True):
    """The result of an immediate push."""

    service: str
    outcome: Annotated[str, Meta(description="`delivered`, `failed`, or `nothing` when nothing was pushed")]
    session: Annotated[str | None, Meta(description="Session ID of the pushed message")] = None
    reason: Annotated[str, Meta(description="Why it failed, or why nothing was pushed")] = ""
