"""Pause, retry and check the pushes of services on this node.

Rule: this is the view of one node. If several nodes push for one service, each pauses by its own observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from postroad.core.configuration.push_settings_error import PushSettingsError
from postroad.core.model.delivery import PushPause
from postroad.core.model.directory import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPush:
    """The result of a requested push; without a session, nothing was pushed."""

    session: str = ""
    is_delivered: bool = False
    reason: str = ""  # why it failed, or why nothing was pushed


class ServicePusher(Protocol):
    """Pushes to one service."""

    def pause(self) -> PushPause | None: ...

    async def try_now(self) -> RequestedPush: ...


class PushControl:
    """Finds the courier of a service, and checks push settings."""

    def __init__(self) -> None:
        self._find: Callable[[str], ServicePusher | None] = lambda gcid: None
        self._faults: Callable[[Service], Sequence[PushSettingsError]] = lambda service: ()

    def check_with(self, faults: Callable[[Service], Sequence[PushSettingsError]]) -> None:
        """Set the function that checks the push settings of a service."""
        self._faults = faults

    def faults(self, service: Service) -> Sequence[PushSettingsError]:
        """Return the errors in a service's push settings, by the settings and secrets of this server."""
        return self._faults(service)

    def serve(self, find: Callable[[str], ServicePusher | None]) -> None:
        """Set the function that finds the pusher for a GCID."""
        self._find = find

    def pause(self, gcid: str) -> PushPause | None:
        """Return the pause of the pushes to a service; None if they are not paused."""
        pushing = self._find(gcid)
        return pushing.pause() if pushing is not None else None

    async def try_now(self, gcid: str) -> RequestedPush | None:
        """Push the oldest waiting message at once; None if this node does not push to the service."""
        pushing = self._find(gcid)
        return await pushing.try_now() if pushing is not None else None
