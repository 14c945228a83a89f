"""A consumer that is asked to stop does so at once, in whatever moment it is asked."""

from __future__ import annotations

import pytest

from postroad.client.exchange import Interrupted
from postroad.client.stopping import Stopping


def test_who_is_asked_just_before_waiting_does_not_wait() -> None:
    stopping = Stopping()
    stopping.ask()
    with pytest.raises(Interrupted), stopping.interruptible(True):
        pytest.fail("nobody waits any more")


def test_what_must_be_finished_is_finished_though_somebody_has_asked() -> None:
    stopping = Stopping()
    stopping.ask()
    finished = False
    with stopping.interruptible(False):
        finished = True
    assert finished
    assert stopping()
