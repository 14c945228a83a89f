"""Where pushes go: by the number of the try, by how well each place is, and what follows when one is gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.delivery.circuit_breaker import MIN_OUTCOMES, PROBE_EVERY_S
from postroad.core.delivery.push_endpoints import PushEndpoints, target_at
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import make_reason, reason_text
from postroad.core.delivery.retry_policy import GiveUp, PushRetry, SwitchOff, decide_push
from postroad.core.model.directory import Push

pytestmark = pytest.mark.req("B7")

MAIN, BACKUP = "https://main.example/", "https://backup.example/"
PUSH = Push(url=MAIN, tries=3, retry_interval_s=60, backup=Push(url=BACKUP, tries=2, retry_interval_s=10))
ALONE = Push(url=MAIN, tries=3)
GONE, BUSY = PushAnswer(status=410), PushAnswer(status=503, retry_after_s=500.0)


def failing(places: PushEndpoints, attempt: int, now_s: float = 0.0) -> None:
    """As often as it takes a breaker to open."""
    for _ in range(MIN_OUTCOMES):
        places.record_failure(target_at(PUSH, attempt), now_s)


def urls(places: PushEndpoints, now_s: float, *attempts: int) -> list[str]:
    return [places.target(attempt, now_s).push.url for attempt in attempts]


def test_the_first_tries_are_for_the_main_place_and_the_next_for_the_backup() -> None:
    assert urls(PushEndpoints(PUSH), 0.0, 1, 2, 3, 4, 5, 6) == [MAIN] * 3 + [BACKUP] * 3
    assert urls(PushEndpoints(ALONE), 0.0, 1, 3, 4) == [MAIN] * 3


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 50))
def test_well_places_are_chosen_by_the_number_alone(tries: int, backup_tries: int, attempt: int) -> None:
    push = Push(url=MAIN, tries=tries, backup=Push(url=BACKUP, tries=backup_tries))
    assert PushEndpoints(push).target(attempt, 0.0) == target_at(push, attempt)


def test_each_place_has_its_own_pauses_and_moving_on_takes_none() -> None:
    judged = [decide_push(PushAnswer(status=503), target_at(PUSH, attempt), 0.5, 0) for attempt in range(1, 5)]
    assert [one.delay_s for one in judged if isinstance(one, PushRetry)] == [60, 60, 0, 10]
    last = decide_push(PushAnswer(status=503), target_at(PUSH, 5), 0.5, 0)
    assert isinstance(last, GiveUp)
    assert reason_text(last.reason) == "the receiver answered 503 (at the backup); tried 5 times"


def test_patience_is_for_the_place_that_asked_for_it() -> None:
    delays = [decide_push(BUSY, target_at(PUSH, attempt), 0.5, 0) for attempt in (2, 3, 4)]
    assert [one.delay_s for one in delays if isinstance(one, PushRetry)] == [500, 0, 500]


def test_a_place_that_fails_is_left_alone_while_the_other_is_pushed_to() -> None:
    places = PushEndpoints(PUSH)
    failing(places, 1)
    assert not places.only_probes_allowed
    assert places.allows_from(1.0) == 1.0
    assert urls(places, 1.0, 1, 2, 4) == [BACKUP] * 3
    assert urls(places, PROBE_EVERY_S, 1, 2) == [MAIN, BACKUP], "one of them is the probe"
    places.record_success(target_at(PUSH, 1), PROBE_EVERY_S)
    assert urls(places, PROBE_EVERY_S, 1, 2) == [MAIN, MAIN]


def test_a_backup_that_fails_is_left_alone_too() -> None:
    places = PushEndpoints(PUSH)
    failing(places, 4)
    assert urls(places, 1.0, 1, 4) == [MAIN, MAIN]
    failing(places, 1, now_s=1.0)
    assert places.only_probes_allowed
    assert places.allows_from(2.0) == PROBE_EVERY_S


def test_an_address_that_is_gone_is_left_out_and_only_the_last_one_switches_off() -> None:
    places = PushEndpoints(PUSH)
    first = places.target(1, 0.0)
    assert decide_push(GONE, first, 0.5, 0) == PushRetry(
        delay_s=0.0, at_us=0, reason=make_reason("push.gone", status=410)
    )
    places.mark_gone(first)
    later = places.target(2, 0.0)
    assert (later.push.url, later.another) == (BACKUP, False)
    assert isinstance(decide_push(GONE, later, 0.5, 0), SwitchOff)
    assert isinstance(decide_push(PushAnswer(status=503), later, 0.5, 0), PushRetry)
    places.mark_gone(later)
    assert places.allows_from(5.0) == 5.0, "until somebody has written down that it is switched off"


def test_a_backup_that_is_gone_does_not_switch_off_a_main_place_that_is_there() -> None:
    places = PushEndpoints(PUSH)
    fourth = places.target(4, 0.0)
    assert isinstance(decide_push(GONE, fourth, 0.5, 0), PushRetry)
    places.mark_gone(fourth)
    assert urls(places, 0.0, 1, 4, 5) == [MAIN] * 3
    assert isinstance(decide_push(GONE, places.target(1, 0.0), 0.5, 0), SwitchOff)


def test_without_a_backup_everything_is_as_ever() -> None:
    assert isinstance(decide_push(GONE, target_at(ALONE, 1), 0.5, 0), SwitchOff)
    assert isinstance(decide_push(PushAnswer(status=503), target_at(ALONE, 3), 0.5, 0), GiveUp)
    assert (PUSH.total_tries, ALONE.total_tries) == (5, 3)
