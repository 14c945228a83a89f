"""Receiving in simulated traffic: polls, pushes, in-transit processing, responses, acknowledgments and failures.

Rule: every delivery ends before the simulation does or is still open then, by the entries of the real flow.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.delivery.retry_policy import SCHEDULE_S
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
)
from postroad.core.model.message import MessageType
from postroad.core.model.message import Status as StatusOf
from postroad.testing.traffic.answering import answer_request, pass_on
from postroad.testing.traffic.deliveries import TrafficDelivery
from postroad.testing.traffic.ending import end_journey, expire_delivery, withdraw_message
from postroad.testing.traffic.participants import TrafficMember
from postroad.testing.traffic.shared_state import TrafficState
from postroad.testing.traffic.timetable import Story, TimetableStep

LEASE_S, PUSH_LEASE_S = 30.0, 75.0
LAPSE_SHARE = 0.006  # share of receivers that disappear before they acknowledge
GIVE_BACK_SHARE = 0.006
WITHDRAWN_SHARE = 0.001
PUSH_FAILS_SHARE = 0.01
PUSH_TRIES = 9
MAX_PER_POLL = 100  # maximum deliveries per poll


def begin_delivery(scene: TrafficState, parcel: TrafficDelivery, at_us: int) -> None:
    """Begin a delivery; from now on its receiver handles it."""
    member = scene.cast.members[parcel.service]
    if member.pushed:
        scene.timetable.begin(_push(scene, member, parcel, at_us))
    elif parcel.message.answers is None and scene.random.random() < WITHDRAWN_SHARE:
        scene.timetable.begin(withdraw_message(scene, parcel, at_us + 50_000))
    else:
        wait_in_mailbox(scene, member, parcel, at_us)


def wait_in_mailbox(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> None:
    """Put the delivery into the mailbox until the member's next poll; it may expire before."""
    poll_at_us = member.poll_at_us
    if not poll_at_us:
        pause_us = int(scene.random.expovariate(1 / member.poll_every_s) * 1_000_000) + 2_000
        poll_at_us = member.back_at_us(at_us + pause_us)
    if poll_at_us >= parcel.expires_at_us:
        scene.timetable.begin(expire_delivery(scene, parcel))
        return
    member.mailbox.append(parcel)
    if not member.poll_at_us:
        member.poll_at_us = poll_at_us
        scene.timetable.begin(_poll(scene, member, poll_at_us))


def _poll(scene: TrafficState, member: TrafficMember, at_us: int) -> Story:
    """Receive the waiting deliveries; other generators continue them."""
    yield TimetableStep(at_us)
    taken, member.mailbox = member.mailbox[:MAX_PER_POLL], member.mailbox[MAX_PER_POLL:]
    member.poll_at_us = 0
    if member.mailbox:
        member.poll_at_us = at_us + 5_000
        scene.timetable.begin(_poll(scene, member, member.poll_at_us))
    numbers = tuple([parcel.number for parcel in taken])
    yield TimetableStep(
        at_us, DeliveriesLeased(at_us=scene.stamp(member, at_us), by=member.gcid, lease_s=LEASE_S, deliveries=numbers)
    )
    yield from _taken(scene, member, taken, at_us)


def _taken(scene: TrafficState, member: TrafficMember, taken: Sequence[TrafficDelivery], at_us: int) -> Story:
    finished: list[TrafficDelivery] = []
    for parcel in taken:
        parcel.attempt += 1
        chance = scene.random.random()
        if chance < LAPSE_SHARE:
            scene.timetable.begin(_redeliver(scene, member, parcel, at_us + int(LEASE_S * 1_000_000)))
        elif chance < LAPSE_SHARE + GIVE_BACK_SHARE:
            scene.timetable.begin(_give_back(scene, member, parcel, at_us))
        elif parcel.in_transit:
            scene.timetable.begin(pass_on(scene, member, parcel, at_us))
        elif parcel.message.type is MessageType.REQUEST:
            scene.timetable.begin(answer_request(scene, member, parcel, at_us))
        else:
            finished.append(parcel)
    if finished:
        yield acknowledgement_step(scene, member, finished, scene.after(at_us, 0.02))


def acknowledgement_step(
    scene: TrafficState, member: TrafficMember, parcels: Sequence[TrafficDelivery], at_us: int
) -> TimetableStep:
    """Return the acknowledgment of these deliveries; it ends journeys that have no further stop."""
    numbers = tuple([parcel.number for parcel in parcels])
    journeys = tuple([parcel.journey for parcel in parcels if parcel.journey])
    return TimetableStep(
        at_us,
        DeliveriesAcknowledged(at_us=scene.stamp(member, at_us), by=member.gcid, deliveries=numbers, journeys=journeys),
    )


def _redeliver(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    yield TimetableStep(at_us)
    wait_in_mailbox(scene, member, parcel, at_us)


def _give_back(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    at_us = scene.after(at_us, 0.05)
    delay_s = float(scene.random.choice((0, 5, 60)))
    stamp = scene.stamp(member, at_us)
    yield TimetableStep(
        at_us,
        DeliveriesReturned(
            at_us=stamp, by=member.gcid, reason="busy, try again", delay_s=delay_s, deliveries=(parcel.number,)
        ),
    )
    yield from _redeliver(scene, member, parcel, at_us + int(delay_s * 1_000_000))


def _push(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    """Push until the receiver accepts, the attempts are used up, or the simulation ends."""
    at_us += 3_000
    while True:
        parcel.attempt += 1
        stamp = scene.stamp(member, at_us)
        yield TimetableStep(
            at_us, DeliveriesLeased(at_us=stamp, by=member.gcid, lease_s=PUSH_LEASE_S, deliveries=(parcel.number,))
        )
        is_away = member.back_at_us(at_us) != at_us
        if not is_away and scene.random.random() >= PUSH_FAILS_SHARE:
            yield from _taken_over(scene, member, parcel, scene.after(at_us, 0.08))
            return
        status, fault, took_ms = _failure(scene, is_away=is_away)
        failed_at_us = at_us + took_ms * 1_000
        if parcel.attempt >= PUSH_TRIES:
            given_up = StatusOf("route.failed", f"{fault}; tried {PUSH_TRIES} times")
            yield from end_journey(scene, parcel, failed_at_us, "failed", given_up)
            return
        delay_s = round(SCHEDULE_S[parcel.attempt] * scene.random.uniform(0.8, 1.2), 3)
        stamp = scene.stamp(member, failed_at_us)
        yield TimetableStep(
            failed_at_us,
            DeliveryAttempted(
                at_us=stamp,
                by=member.gcid,
                deliveries=(parcel.number,),
                status=status,
                duration_ms=took_ms,
                fault=fault,
                delay_s=delay_s,
            ),
        )
        at_us = failed_at_us + int(delay_s * 1_000_000)
        if at_us >= parcel.expires_at_us:
            yield from expire_delivery(scene, parcel)
            return


def _failure(scene: TrafficState, *, is_away: bool) -> tuple[int, str, int]:
    """Return the status, reason and duration in milliseconds of a failed push."""
    if is_away and scene.random.random() < 0.5:
        return 0, "the server did not answer in time", 30_000
    status = scene.random.choice((500, 502, 503, 503))
    return status, f"the server answered {status}", 20 + int(scene.random.expovariate(1 / 200))


def _taken_over(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    if parcel.in_transit:
        yield from pass_on(scene, member, parcel, at_us)
    elif parcel.message.type is MessageType.REQUEST:
        yield from answer_request(scene, member, parcel, at_us)
    else:
        yield acknowledgement_step(scene, member, [parcel], at_us)
