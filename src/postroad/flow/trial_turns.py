"""Turns for trials: programs of members that people try or save, one at a time for each organization.

Who asks is known to those who authenticate requests, and needed by those who run programs, far below. So it goes along with the
task that serves the request (``acting_for``).
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

from postroad.core.model.caller import Caller
from postroad.flow.heavy_work import HeavyWork

_acting_for: ContextVar[str] = ContextVar("acting_for", default="")


def act_for(caller: Caller) -> None:
    """Whatever this task has run from now on takes the turns of the caller's organization."""
    _acting_for.set(caller.organization or caller.name)


def acting_for() -> str:
    """The organization whose turns this task takes; empty where nobody has said."""
    return _acting_for.get()


class TrialTurns:
    def __init__(self) -> None:
        self._heavy = HeavyWork()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """For one trial; raises Refused with ``rate.exceeded`` where too many of the organization wait already."""
        return self._heavy.turn(acting_for())
