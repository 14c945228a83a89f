"""Responses in simulated traffic: of in-transit services, which return the message, and of recipients."""

from __future__ import annotations

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import AnsweredDelivery, DeliveriesAcknowledged, InvocationReturned, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.unique_keys import answer_key, post_keys
from postroad.testing.traffic.deliveries import TrafficDelivery, deliveries_of
from postroad.testing.traffic.ending import end_journey, expire_delivery
from postroad.testing.traffic.participants import TrafficMember
from postroad.testing.traffic.plan import Trouble
from postroad.testing.traffic.shared_state import TrafficState, one_part, wire_bytes
from postroad.testing.traffic.timetable import Story, TimetableStep

IN_TRANSIT_FAILS_SHARE = 0.004
REJECTED_SHARE = 0.003
SILENT_SHARE = 0.004  # share of recipients that never respond to a request
TROUBLED_ERROR_SHARE = 0.6
TROUBLED_THINKING = 12.0  # times as long
FAULTS = ("order.unknown-article", "order.credit-limit", "order.late", "internal")
FAILED = Status("internal", "the service is out of order")


def pass_on(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    """Continue a message after an in-transit service: changed, unchanged, or not at all."""
    at_us = scene.after(at_us, member.thinking_s)
    if at_us >= parcel.expires_at_us:
        yield from expire_delivery(scene, parcel)
        return
    chance = scene.random.random()
    context = parcel.hops[parcel.hop].context
    absorbs = context is not None and context.absorbs
    if chance < IN_TRANSIT_FAILS_SHARE and not absorbs:
        what = f"{member.service.address} answered {FAILED.code} {FAILED.text}"
        yield from end_journey(scene, parcel, at_us, "failed", Status("route.failed", what))
    elif chance > 1 - REJECTED_SHARE:
        what = f"{member.service.address} rejected the message: not wanted"
        yield from end_journey(scene, parcel, at_us, "rejected", Status("route.rejected", what))
    else:
        status = FAILED if chance < IN_TRANSIT_FAILS_SHARE else None
        seq = yield TimetableStep(at_us, _returned(scene, member, parcel, at_us, status), parcel.document)
        scene.arrive(parcel.moved(seq, parcel.hop + 1), at_us)


def _returned(
    scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int, status: Status | None
) -> InvocationReturned:
    document = parcel.document or b""
    return InvocationReturned(
        at_us=scene.stamp(member, at_us),
        delivery=parcel.number,
        session=parcel.message.session,
        transaction=parcel.message.transaction,
        by=member.gcid,
        message=parcel.message_seq,
        copy=parcel.copy,
        hop=parcel.hop + 1,
        next=parcel.hops[parcel.hop + 1].service,
        size=wire_bytes(document),
        expires_at_us=parcel.expires_at_us,
        parts=one_part(parcel.document),
        keys=(answer_key(parcel.number),),
        journey=parcel.journey,
        status=status,
    )


def answer_request(scene: TrafficState, member: TrafficMember, parcel: TrafficDelivery, at_us: int) -> Story:
    """Respond to a request as its recipient: immediately, after acknowledging, late, with an error, or never."""
    trouble = scene.trouble(member, at_us)
    thinking_s = member.thinking_s * (TROUBLED_THINKING if trouble is Trouble.LATENCY else 1.0)
    answered_at_us = scene.after(at_us, thinking_s, 0.8)
    if member.acknowledges_first:
        acknowledged_at_us = min(at_us + 30_000, answered_at_us)
        stamp = scene.stamp(member, acknowledged_at_us)
        yield TimetableStep(
            acknowledged_at_us, DeliveriesAcknowledged(at_us=stamp, by=member.gcid, deliveries=(parcel.number,))
        )
    if scene.random.random() < SILENT_SHARE or answered_at_us >= parcel.expires_at_us:
        yield from expire_delivery(scene, parcel)
        return
    share = TROUBLED_ERROR_SHARE if trouble is Trouble.ERRORS else member.error_share
    status = None
    if scene.random.random() < share:
        status = Status(scene.random.choice(FAULTS), "the order cannot be carried out")
    document = scene.documents.answer(status.code if status is not None else "ok")
    response = _response(scene, member, parcel, answered_at_us, status, document)
    seq = yield TimetableStep(answered_at_us, response, document)
    [back] = deliveries_of(response, seq, document, parcel)
    scene.arrive(back, answered_at_us)


def _response(
    scene: TrafficState,
    member: TrafficMember,
    parcel: TrafficDelivery,
    at_us: int,
    status: Status | None,
    document: bytes,
) -> MessagePosted:
    request = parcel.message
    requester = scene.cast.members[request.sender].service
    stamp = scene.stamp(member, at_us)
    return MessagePosted(
        at_us=stamp,
        session=scene.session(stamp),
        transaction=request.transaction,
        sender=member.gcid,
        type=MessageType.RESPONSE,
        topic=f"{request.topic}.answered",  # no rule has this topic, so the way back is direct
        size=wire_bytes(document),
        form="push" if member.pushed and not member.acknowledges_first else "json",
        expires_at_us=request.expires_at_us,
        directory=scene.routes.directory.version,
        parts=one_part(document),
        copies=(Copy(requester.address, (Hop(requester.gcid, (), member.gcid),)),),
        status=status,
        answers=AnsweredDelivery(
            parcel.number, request.session, request.handle, delivery_number(parcel.message_seq, parcel.copy)
        ),
        keys=post_keys(member.gcid, "", "", parcel.number),
    )
