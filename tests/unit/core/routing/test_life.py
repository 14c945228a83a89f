"""The table of a journey's life: complete, and every way through it comes to an end."""

from __future__ import annotations

import pytest

from postroad.core.model.delivery import State
from postroad.core.routing.life import LIFE, Event, Waypoint


def reachable(start: Waypoint) -> set[Waypoint | State]:
    found: set[Waypoint | State] = {start}
    todo: list[Waypoint] = [start]
    while todo:
        for following in LIFE[todo.pop()].values():
            for after in following:
                if after not in found:
                    found.add(after)
                    if isinstance(after, Waypoint):
                        todo.append(after)
    return found


@pytest.mark.req("R12", "M10")
def test_every_waypoint_is_in_the_table_and_can_be_reached() -> None:
    assert set(LIFE) == set(Waypoint)
    assert set(Waypoint) <= reachable(Waypoint.IN_TRANSIT)


@pytest.mark.req("M10")
@pytest.mark.parametrize("waypoint", Waypoint)
def test_nothing_waits_for_ever(waypoint: Waypoint) -> None:
    assert LIFE[waypoint][Event.EXPIRED] == (State.EXPIRED,)
    assert State.DELIVERED in reachable(waypoint)


@pytest.mark.req("M9")
def test_what_is_on_its_way_back_is_not_withdrawn() -> None:
    withdrawable = {waypoint for waypoint in Waypoint if Event.CANCELLED in LIFE[waypoint]}
    assert withdrawable == {Waypoint.IN_TRANSIT, Waypoint.AT_RECIPIENT, Waypoint.ASKED}


def test_an_event_leads_to_one_kind_of_place() -> None:
    """Either it ends the journey, in one state, or it goes on."""
    for events in LIFE.values():
        for following in events.values():
            ends = [after for after in following if isinstance(after, State)]
            assert not ends or (len(ends) == 1 and len(following) == 1)
