"""The status of a service in a history, in the words of its role."""

from __future__ import annotations

import pytest

from postroad.core.audit.history.status_text import role_of, status_of
from postroad.core.model.history import HistoryEvent, Stop


@pytest.mark.req("A1")
@pytest.mark.parametrize(
    ("in_transit", "state", "moves", "role", "status"),
    [
        (True, "queued", [], "inTransit", "waiting"), (True, "queued", ["handed out"], "inTransit", "invoked"),
        (True, "delivered", ["handed out", "answered"], "inTransit", "returned"),
        (True, "failed", ["handed out", "failed"], "inTransit", "failed"),
        (False, "queued", ["handed out", "given back"], "recipient", "waiting"),
        (False, "queued", ["handed out"], "recipient", "handed out"),
        (False, "delivered", ["handed out", "acknowledged"], "recipient", "received"),
        (False, "delivered", ["handed out", "answered"], "recipient", "answered"),
        (False, "expired", ["expired"], "recipient", "expired"),
    ],
)  # fmt: skip
def test_the_status_depends_on_the_role(in_transit: bool, state: str, moves: list[str], role: str, status: str) -> None:
    events = [HistoryEvent(seq=1, at_us=1, what=what, by="A/B", detail="") for what in moves]
    stop = Stop(delivery=1, service="A/B", gcid="a" * 16, in_transit=in_transit, state=state, size=1, events=events)
    assert (role_of(stop).value, status_of(stop)) == (role, status)
