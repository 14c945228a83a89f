"""At most one notification for each subscription, event and digest time, with the number of events."""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec
import pytest

from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import Severity
from postroad.core.notifications.digests import GATHER_US, MAX_CAUSES, MAX_LINES, Notification
from postroad.core.notifications.event import NotifiableEvent
from postroad.core.notifications.state import NotificationState, decode_state, encode_state
from postroad.testing.clocks import EPOCH_US
from tests.samples.subscriptions import MINUTE, SECOND, dead_letter, directory_with, failing, subscription

DIGEST = 15 * MINUTE
HOUR = 60 * MINUTE


def send_due(state: NotificationState, directory: Directory, now_us: int) -> list[Notification]:
    """Return what is due, as if it had been sent at once."""
    made = state.make_due(directory, now_us)
    for one in made:
        state.digest(f"{one.organization}/{one.subscription}".casefold(), one.event).record_success(now_us)
    return made


def run(
    directory: Directory, events: list[NotifiableEvent], until_us: int, every_us: int = 5 * SECOND
) -> list[Notification]:
    """Absorb the events at their times and send what is due, from the epoch on."""
    state, sent, number = NotificationState(), list[Notification](), 0
    for now_us in range(EPOCH_US, until_us, every_us):
        while number < len(events) and events[number].at_us <= now_us:
            state.absorb([events[number]], directory, now_us)
            number += 1
        sent += send_due(state, directory, now_us)
    return sent


def test_the_first_event_is_sent_at_once_and_later_ones_after_the_digest_time() -> None:
    events = [dead_letter(EPOCH_US + minute * MINUTE) for minute in range(20)]
    sent = run(directory_with(subscription()), events, EPOCH_US + HOUR)
    assert [one.count for one in sent] == [1, 15, 4]
    assert sent[0].at_us - EPOCH_US == GATHER_US
    assert [late.at_us - early.at_us for early, late in pairwise(sent)] == [DIGEST, DIGEST]


def test_the_digest_time_is_the_subscriptions() -> None:
    events = [dead_letter(EPOCH_US + minute * MINUTE) for minute in range(20)]
    sent = run(directory_with(subscription(digest_minutes=60)), events, EPOCH_US + 3 * HOUR)
    assert [one.count for one in sent] == [1, 19]


@pytest.mark.req("O8")
def test_a_storm_of_100_000_dead_letters_is_one_notification() -> None:
    directory, state = directory_with(subscription()), NotificationState()
    for number in range(100_000):
        state.absorb(
            [dead_letter(EPOCH_US + number * 100, ("tls", "refused")[number % 2])], directory, EPOCH_US + number * 100
        )
    sent = [one for second in range(0, 7_200, 5) for one in send_due(state, directory, EPOCH_US + second * SECOND)]
    assert [(one.count, [line.count for line in one.lines]) for one in sent] == [(100_000, [50_000, 50_000])]


def test_a_recovery_closes_a_cause_that_was_reported() -> None:
    directory = directory_with(subscription())
    events = [failing(), failing(EPOCH_US + HOUR, recovered=True), failing(EPOCH_US + HOUR + MINUTE, recovered=True)]
    first, last = run(directory, events, EPOCH_US + 3 * HOUR)
    assert (first.is_recovery, last.is_recovery) == (False, True)
    assert (last.count, last.lines[0].last_at_us) == (0, EPOCH_US + HOUR)


def test_a_cause_that_ends_before_it_was_reported_is_not_reported() -> None:
    directory = directory_with(subscription())
    assert run(directory, [failing(), failing(EPOCH_US + 5 * SECOND, recovered=True)], EPOCH_US + HOUR) == []
    assert run(directory, [failing(recovered=True)], EPOCH_US + HOUR) == []


def test_a_cause_that_begins_again_after_its_recovery_is_reported_again() -> None:
    begin, end = failing(), failing(EPOCH_US + HOUR, recovered=True)
    again = failing(EPOCH_US + 2 * HOUR)
    sent = run(directory_with(subscription()), [begin, end, again], EPOCH_US + 4 * HOUR)
    assert [one.is_recovery for one in sent] == [False, True, False]


def test_nothing_new_is_made_while_the_last_notification_cannot_be_sent() -> None:
    directory, state = directory_with(subscription()), NotificationState()
    state.absorb([dead_letter()], directory, EPOCH_US)
    [pending] = state.make_due(directory, EPOCH_US + GATHER_US)
    digest = state.digest("acme/ops", "dead-letter")
    waits = []
    for number in range(10):
        digest.record_failure("refused", EPOCH_US)
        waits.append((digest.retry_at_us - EPOCH_US) // MINUTE)
        state.absorb([dead_letter(EPOCH_US + number)], directory, EPOCH_US)
        assert state.make_due(directory, EPOCH_US + 24 * HOUR) == []
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert state.health("acme/ops").failures == 10
    assert [one for _, one in state.find_pending(EPOCH_US + 2 * HOUR)] == [pending]
    digest.record_success(EPOCH_US + 2 * HOUR)
    assert [one.count for one in state.make_due(directory, EPOCH_US + 24 * HOUR)] == [10]
    assert state.health("acme/ops") == (EPOCH_US + 2 * HOUR, 1, 0, "", 0)


def test_memory_is_bounded_by_causes_and_lines() -> None:
    directory, state = directory_with(subscription()), NotificationState()
    for number in range(10_000):
        state.absorb([dead_letter(cause=f"cause {number % 5_000}")], directory, EPOCH_US)
    assert len(state.digest("acme/ops", "dead-letter").causes) == MAX_CAUSES
    assert len(encode_state(state)) < 100_000
    [sent] = send_due(state, directory, EPOCH_US + GATHER_US)
    assert (sent.count, len(sent.lines)) == (10_000, MAX_LINES)
    assert sent.left_out == MAX_CAUSES - MAX_LINES + 1


def test_severity_events_and_organization_choose_the_subscribers() -> None:
    chosen = subscription("chosen", events=("dead-letter",))
    loud = subscription("loud", least_severity=Severity.ERROR)
    other = subscription("other", organization="Globex")
    operators = subscription("net", organization="")
    named = subscription("named", organization="", events=("push.failing",))
    directory = directory_with(chosen, loud, other, operators, named)
    events = [dead_letter(), failing(), NotifiableEvent("disk.low", "", "data folder", EPOCH_US)]
    events.append(NotifiableEvent("support.asked", "Acme", "a question", EPOCH_US))
    sent = run(directory, events, EPOCH_US + MINUTE)
    assert sorted((one.subscription, one.event) for one in sent) == [
        ("chosen", "dead-letter"),
        ("loud", "dead-letter"),
        ("named", "push.failing"),
        ("net", "disk.low"),
        ("net", "support.asked"),
    ]


def test_a_removed_subscription_is_forgotten() -> None:
    state = NotificationState()
    state.absorb([dead_letter()], directory_with(subscription()), EPOCH_US)
    assert state.make_due(directory_with(), EPOCH_US + GATHER_US) == []
    assert state.digests == {}


def month_of_traffic() -> list[bytes]:
    """Return the notifications of a month in which everything happens, with a restart each day."""
    drawn = random.Random(17)
    directory = directory_with(
        subscription(), subscription("hourly", digest_minutes=60), subscription("net", organization="")
    )
    state, sent, now_us = NotificationState(), list[bytes](), EPOCH_US
    for step in range(30 * 24 * 12):  # five minutes each
        now_us = EPOCH_US + step * 5 * MINUTE
        events = [
            dead_letter(now_us, drawn.choice(("tls", "refused", "no-answer"))) for _ in range(drawn.randrange(20))
        ]
        events += [failing(now_us, recovered=drawn.random() < 0.5)]
        events += [NotifiableEvent("disk.low", "", "data folder", now_us, recovered=drawn.random() < 0.9)]
        state.absorb(events, directory, now_us)
        sent += [msgspec.json.encode(one) for one in send_due(state, directory, now_us + GATHER_US)]
        if step % (24 * 12) == 0:
            state = decode_state(encode_state(state))
    return sent


@pytest.mark.req("O8")
def test_a_month_of_traffic_makes_a_bounded_list_that_is_equal_byte_for_byte() -> None:
    first, second = month_of_traffic(), month_of_traffic()
    assert first == second
    quarter_hours, hours = 30 * 24 * 4, 30 * 24
    assert 1_000 < len(first) <= 3 * quarter_hours + 2 * hours


def test_the_same_notification_has_the_same_id_and_others_have_others() -> None:
    directory = directory_with(subscription(), subscription("b"))
    events = [dead_letter(), failing()]
    ids = [one.id for one in run(directory, events, EPOCH_US + MINUTE)]
    assert ids == [one.id for one in run(directory, events, EPOCH_US + MINUTE)]
    assert len(set(ids)) == 4
