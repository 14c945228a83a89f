"""The table of a journey's life: complete, and every way through it comes to an end."""

from __future__ import annotations

import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.routing.lifecycle import JOURNEY_LIFECYCLE, JourneyEvent, Waypoint


def reachable(start: Waypoint) -> set[Waypoint | DeliveryState]:
    found: set[Waypoint | DeliveryState] = {start}
    todo: list[Waypoint] = [start]
    while todo:
        for following in JOURNEY_LIFECYCLE[todo.pop()].values():
            for after in following:
                if after not in found:
                    found.add(after)
                    if isinstance(after, Waypoint):
                        todo.append(after)
    return found


@pytest.mark.req("R12", "M10")
def test_every_waypoint_is_in_the_table_and_can_be_reached() -> None:
    assert set(JOURNEY_LIFECYCLE) == set(Waypoint)
    assert set(Waypoint) <= reachable(Waypoint.IN_TRANSIT)


@pytest.mark.req("M10")
@pytest.mark.parametrize("waypoint", Waypoint)
def test_nothing_waits_for_ever(waypoint: Waypoint) -> None:
    assert JOURNEY_LIFECYCLE[waypoint][JourneyEvent.EXPIRED] == (DeliveryState.EXPIRED,)
    assert DeliveryState.DELIVERED in reachable(waypoint)


@pytest.mark.req("M9")
def test_what_is_on_its_way_back_is_not_withdrawn() -> None:
    withdrawable = {waypoint for waypoint in Waypoint if JourneyEvent.CANCELLED in JOURNEY_LIFECYCLE[waypoint]}
    assert withdrawable == {Waypoint.IN_TRANSIT, Waypoint.AT_RECIPIENT, Waypoint.ASKED}


def test_an_event_leads_to_one_kind_of_place() -> None:
    """Either it ends the journey, in one state, or it goes on."""
    for events in JOURNEY_LIFECYCLE.values():
        for following in events.values():
            ends = [after for after in following if isinstance(after, DeliveryState)]
            assert not ends or (len(ends) == 1 and len(following) == 1)
