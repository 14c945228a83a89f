"""Limits trials to one at a time per organization.

The organization is known where requests are authenticated, and needed far below, where programs are run. So it is
carried in the context of the task that serves the request (``set_trial_organization``).
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

from postroad.core.model.caller import Caller
from postroad.flow.concurrency.heavy_work import HeavyWork

_acting_for: ContextVar[str] = ContextVar("acting_for", default="")


def set_trial_organization(caller: Caller) -> None:
    """Set the organization whose limit applies to the trials of this task."""
    _acting_for.set(caller.organization or caller.name)


def get_trial_organization() -> str:
    """Return the organization set for this task, or ''."""
    return _acting_for.get()


class TrialLimit:
    """Runs one trial at a time per organization."""

    def __init__(self) -> None:
        self._heavy = HeavyWork()

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Hold the slot for one trial; raises Refused with ``rate.exceeded`` if too many wait."""
        return self._heavy.slot(get_trial_organization())
