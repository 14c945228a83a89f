"""Conditions are reported when they begin, when their level changes, and when they end."""

from __future__ import annotations

from postroad.core.model.journal import DeliveriesAcknowledged, DeliveryAttempted
from postroad.core.model.subscription import Severity
from postroad.core.notifications.conditions import Condition, KnownCondition, compare_conditions
from postroad.core.notifications.digests import GATHER_US
from postroad.core.notifications.failing_pushes import DAY_US, HOUR_US, find_failing_pushes, follow_pushes
from postroad.core.notifications.state import NotificationState, decode_state, encode_state
from postroad.testing.clocks import EPOCH_US
from tests.samples.subscriptions import MINUTE, SUPPLY, directory_with, subscription

KEY = "key 'main' of Acme/Supply"


def expiring(level: str) -> Condition:
    return Condition("credential.expiring", "Acme", KEY, f"in {level} days", level)


def test_a_condition_is_reported_once_for_each_level_and_when_it_ends() -> None:
    known: list[KnownCondition] = []
    told = []
    for found in ([], [expiring("30")], [expiring("30")], [expiring("14")], [], []):
        known, events = compare_conditions(known, found, {"credential.expiring"}, EPOCH_US)
        told.append([(event.detail, event.recovered) for event in events])
    assert told == [[], [("in 30 days", False)], [], [("in 14 days", False)], [("", True)], []]


def test_conditions_that_were_not_checked_stay_as_they_are() -> None:
    known, _ = compare_conditions([], [expiring("7")], {"credential.expiring"}, EPOCH_US)
    assert compare_conditions(known, [], {"disk.low"}, EPOCH_US) == (known, [])


def test_a_new_subscription_hears_of_the_conditions_that_are_known() -> None:
    state = NotificationState()
    state.conditions, _ = compare_conditions([], [expiring("7")], {"credential.expiring"}, EPOCH_US)
    directory = directory_with(subscription(), subscription("loud", least_severity=Severity.ERROR))
    state.welcome(directory, EPOCH_US)
    state = decode_state(encode_state(state))
    state.welcome(directory, EPOCH_US + 1)
    [made] = state.make_due(directory, EPOCH_US + GATHER_US)
    assert (made.subscription, made.count, made.lines[0].subject) == ("ops", 1, KEY)


def attempted(at_us: int, delay_s: float, number: int = 1) -> DeliveryAttempted:
    return DeliveryAttempted(at_us, SUPPLY.gcid, (number,), 503, 10, "it answered 503", delay_s)


def levels(state: NotificationState, now_us: int) -> list[str]:
    return [one.level for one in find_failing_pushes(state, directory_with(), now_us)]


def test_pushes_that_fail_are_reported_after_an_hour_and_a_day_and_end_with_a_success() -> None:
    state = NotificationState()
    follow_pushes(state, attempted(EPOCH_US, 30 * 60), set())
    assert levels(state, EPOCH_US + 59 * MINUTE) == []
    assert levels(state, EPOCH_US + HOUR_US) == ["1 hour"]
    follow_pushes(state, attempted(EPOCH_US + 23 * HOUR_US, 7_200), set())
    assert levels(state, EPOCH_US + 23 * HOUR_US) == ["1 hour"]
    assert levels(state, EPOCH_US + DAY_US) == ["1 day"]
    follow_pushes(state, DeliveriesAcknowledged(EPOCH_US + DAY_US, SUPPLY.gcid, (1,)), set())
    assert levels(state, EPOCH_US + DAY_US) == []


def test_a_service_without_another_push_is_not_failing() -> None:
    state = NotificationState()
    follow_pushes(state, attempted(EPOCH_US, 60), set())
    assert levels(state, EPOCH_US + 3 * HOUR_US) == []
    assert levels(state, EPOCH_US + 5 * DAY_US) == []
    assert state.failing == {}


def test_failed_pushes_of_notifications_do_not_count() -> None:
    state = NotificationState()
    follow_pushes(state, attempted(EPOCH_US, 60, number=7), {7})
    assert state.failing == {}
