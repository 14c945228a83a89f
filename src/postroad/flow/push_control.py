"""What people and programs learn of pushes here, and may ask for: pauses, a try at once, and what is wrong with settings.

Rule: this is the view of one node. Where several nodes push for one service, each pauses by what it has seen itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from postroad.core.configuration.push_faults import PushFault
from postroad.core.delivery.pauses import Pause
from postroad.core.model.directory import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a push that somebody asked for came to; without a session, nothing was pushed."""

    session: str = ""
    is_delivered: bool = False
    reason: str = ""  # why it failed, or why nothing was pushed


class Pushing(Protocol):
    """Pushes for one service."""

    def pause(self) -> Pause | None: ...

    async def try_now(self) -> Tried: ...


class PushControl:
    def __init__(self) -> None:
        self._find: Callable[[str], Pushing | None] = lambda gcid: None
        self._faults: Callable[[Service], Sequence[PushFault]] = lambda service: ()

    def check_with(self, faults: Callable[[Service], Sequence[PushFault]]) -> None:
        """From now on ``faults`` knows what is wrong with the push settings of a service."""
        self._faults = faults

    def faults(self, service: Service) -> Sequence[PushFault]:
        """What is wrong with the push settings of a service, by the settings and secrets of this server."""
        return self._faults(service)

    def serve(self, find: Callable[[str], Pushing | None]) -> None:
        """From now on ``find`` knows who pushes for the service with a GCID."""
        self._find = find

    def pause(self, gcid: str) -> Pause | None:
        """The pause of the pushes to a service; None when there is none."""
        pushing = self._find(gcid)
        return pushing.pause() if pushing is not None else None

    async def try_now(self, gcid: str) -> Tried | None:
        """Push the oldest message that waits, whatever it waits for; None when nothing is pushed to the service from here."""
        pushing = self._find(gcid)
        return await pushing.try_now() if pushing is not None else None
