"""What services do with what reaches them: poll and be pushed to, work on it in transit, answer, acknowledge, or fail at it.

Kept rule: every delivery that arrives comes to an end or to the end of the time, by the entries that the real flow would write.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.delivery.retrying import SCHEDULE_S
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
)
from postroad.core.model.message import MessageType
from postroad.core.model.message import Status as StatusOf
from postroad.testing.traffic.answering import answer, pass_on
from postroad.testing.traffic.cast import Member
from postroad.testing.traffic.ending import end, expire, withdraw
from postroad.testing.traffic.parcel import Parcel
from postroad.testing.traffic.scene import Scene
from postroad.testing.traffic.timetable import Step, Story

LEASE_S, PUSH_LEASE_S = 30.0, 75.0
LAPSE_SHARE = 0.006  # receivers that are gone before they acknowledge
GIVE_BACK_SHARE = 0.006
WITHDRAWN_SHARE = 0.001
PUSH_FAILS_SHARE = 0.01
PUSH_TRIES = 9
AT_MOST = 100  # deliveries in a poll


def arrive(scene: Scene, parcel: Parcel, at_us: int) -> None:
    """A delivery has been made; from now on its receiver has it to do."""
    member = scene.cast.members[parcel.service]
    if member.pushed:
        scene.timetable.begin(_push(scene, member, parcel, at_us))
    elif parcel.message.answers is None and scene.random.random() < WITHDRAWN_SHARE:
        scene.timetable.begin(withdraw(scene, parcel, at_us + 50_000))
    else:
        wait_in_mailbox(scene, member, parcel, at_us)


def wait_in_mailbox(scene: Scene, member: Member, parcel: Parcel, at_us: int) -> None:
    """Until the member's next poll; what expires before that is never fetched."""
    poll_at_us = member.poll_at_us
    if not poll_at_us:
        pause_us = int(scene.random.expovariate(1 / member.poll_every_s) * 1_000_000) + 2_000
        poll_at_us = member.back_at_us(at_us + pause_us)
    if poll_at_us >= parcel.expires_at_us:
        scene.timetable.begin(expire(scene, parcel))
        return
    member.mailbox.append(parcel)
    if not member.poll_at_us:
        member.poll_at_us = poll_at_us
        scene.timetable.begin(_poll(scene, member, poll_at_us))


def _poll(scene: Scene, member: Member, at_us: int) -> Story:
    """Take what waits; further stories say what becomes of it."""
    yield Step(at_us)
    taken, member.mailbox = member.mailbox[:AT_MOST], member.mailbox[AT_MOST:]
    member.poll_at_us = 0
    if member.mailbox:
        member.poll_at_us = at_us + 5_000
        scene.timetable.begin(_poll(scene, member, member.poll_at_us))
    numbers = tuple([parcel.number for parcel in taken])
    yield Step(at_us, DeliveriesLeased(scene.stamp(member, at_us), member.gcid, LEASE_S, numbers))
    yield from _taken(scene, member, taken, at_us)


def _taken(scene: Scene, member: Member, taken: Sequence[Parcel], at_us: int) -> Story:
    finished: list[Parcel] = []
    for parcel in taken:
        parcel.attempt += 1
        chance = scene.random.random()
        if chance < LAPSE_SHARE:
            scene.timetable.begin(_comes_again(scene, member, parcel, at_us + int(LEASE_S * 1_000_000)))
        elif chance < LAPSE_SHARE + GIVE_BACK_SHARE:
            scene.timetable.begin(_give_back(scene, member, parcel, at_us))
        elif parcel.in_transit:
            scene.timetable.begin(pass_on(scene, member, parcel, at_us))
        elif parcel.message.type is MessageType.REQUEST:
            scene.timetable.begin(answer(scene, member, parcel, at_us))
        else:
            finished.append(parcel)
    if finished:
        yield acknowledgement(scene, member, finished, scene.after(at_us, 0.02))


def acknowledgement(scene: Scene, member: Member, parcels: Sequence[Parcel], at_us: int) -> Step:
    """The receiver has them; journeys that lead no further are over."""
    numbers = tuple([parcel.number for parcel in parcels])
    journeys = tuple([parcel.journey for parcel in parcels if parcel.journey])
    return Step(at_us, DeliveriesAcknowledged(scene.stamp(member, at_us), member.gcid, numbers, journeys))


def _comes_again(scene: Scene, member: Member, parcel: Parcel, at_us: int) -> Story:
    yield Step(at_us)
    wait_in_mailbox(scene, member, parcel, at_us)


def _give_back(scene: Scene, member: Member, parcel: Parcel, at_us: int) -> Story:
    at_us = scene.after(at_us, 0.05)
    delay_s = float(scene.random.choice((0, 5, 60)))
    stamp = scene.stamp(member, at_us)
    yield Step(at_us, DeliveriesReturned(stamp, member.gcid, "busy, try again", delay_s, (parcel.number,)))
    yield from _comes_again(scene, member, parcel, at_us + int(delay_s * 1_000_000))


def _push(scene: Scene, member: Member, parcel: Parcel, at_us: int) -> Story:
    """Pushed until the receiver takes it, the tries are used up, or the time is over."""
    at_us += 3_000
    while True:
        parcel.attempt += 1
        stamp = scene.stamp(member, at_us)
        yield Step(at_us, DeliveriesLeased(stamp, member.gcid, PUSH_LEASE_S, (parcel.number,)))
        is_away = member.back_at_us(at_us) != at_us
        if not is_away and scene.random.random() >= PUSH_FAILS_SHARE:
            yield from _taken_over(scene, member, parcel, scene.after(at_us, 0.08))
            return
        status, fault, took_ms = _failure(scene, is_away=is_away)
        failed_at_us = at_us + took_ms * 1_000
        if parcel.attempt >= PUSH_TRIES:
            given_up = StatusOf("route.failed", f"{fault}; tried {PUSH_TRIES} times")
            yield from end(scene, parcel, failed_at_us, "failed", given_up)
            return
        delay_s = round(SCHEDULE_S[parcel.attempt] * scene.random.uniform(0.8, 1.2), 3)
        stamp = scene.stamp(member, failed_at_us)
        yield Step(
            failed_at_us, DeliveryAttempted(stamp, member.gcid, (parcel.number,), status, took_ms, fault, delay_s)
        )
        at_us = failed_at_us + int(delay_s * 1_000_000)
        if at_us >= parcel.expires_at_us:
            yield from expire(scene, parcel)
            return


def _failure(scene: Scene, *, is_away: bool) -> tuple[int, str, int]:
    """Status, words and milliseconds of a push that failed."""
    if is_away and scene.random.random() < 0.5:
        return 0, "the server did not answer in time", 30_000
    status = scene.random.choice((500, 502, 503, 503))
    return status, f"the server answered {status}", 20 + int(scene.random.expovariate(1 / 200))


def _taken_over(scene: Scene, member: Member, parcel: Parcel, at_us: int) -> Story:
    if parcel.in_transit:
        yield from pass_on(scene, member, parcel, at_us)
    elif parcel.message.type is MessageType.REQUEST:
        yield from answer(scene, member, parcel, at_us)
    else:
        yield acknowledgement(scene, member, [parcel], at_us)
