"""Early ends in simulated traffic: expired, given up, failed, rejected or withdrawn.

Rules: as in the real flow, the entry that ends a request's journey contains an error response to its sender; a
notification ends without a response.
"""

from __future__ import annotations

from postroad.core.model.journal import BY_NETWORK, AnsweredDelivery, DeliveriesEnded, JourneyEnding, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.unique_keys import answer_key, journey_key
from postroad.testing.traffic.deliveries import TrafficDelivery, deliveries_of
from postroad.testing.traffic.shared_state import TrafficState
from postroad.testing.traffic.timetable import Story, TimetableStep

NOT_FETCHED = "not fetched before it expired"
EXPIRED = Status("route.expired", "The message expired on its way")


def expire_delivery(scene: TrafficState, parcel: TrafficDelivery) -> Story:
    """Expire a delivery that was not fetched or answered in time."""
    return end_journey(scene, parcel, parcel.expires_at_us, "expired", EXPIRED)


def end_journey(scene: TrafficState, parcel: TrafficDelivery, at_us: int, state: str, status: Status) -> Story:
    """End the journey, or the delivery if it has none; a waiting requester gets an error response."""
    reason = f"{status.code}: {status.text}"
    if not parcel.journey:
        told = NOT_FETCHED if state == "expired" else status.text
        yield TimetableStep(
            at_us, DeliveriesEnded(at_us=at_us, by=BY_NETWORK, state=state, reason=told, deliveries=(parcel.number,))
        )
    elif parcel.opening.type is not MessageType.REQUEST:
        yield TimetableStep(
            at_us,
            DeliveriesEnded(
                at_us=at_us,
                by=BY_NETWORK,
                state=state,
                reason=reason,
                deliveries=(parcel.number,),
                journeys=(parcel.journey,),
            ),
        )
    else:
        told_by_network = _error_response(scene, parcel, at_us, status, state, reason)
        seq = yield TimetableStep(at_us, told_by_network)
        [parcel] = deliveries_of(told_by_network, seq, None)
        scene.arrive(parcel, at_us)


def withdraw_message(scene: TrafficState, parcel: TrafficDelivery, at_us: int) -> Story:
    """Withdraw a message as its sender."""
    journeys = (parcel.journey,) if parcel.journey else ()
    reason = "withdrawn by its sender"
    sender = scene.cast.members[parcel.opening.sender]
    stamp = scene.stamp(sender, at_us)
    yield TimetableStep(
        at_us,
        DeliveriesEnded(
            at_us=stamp,
            by=sender.gcid,
            state="cancelled",
            reason=reason,
            deliveries=(parcel.number,),
            journeys=journeys,
        ),
    )


def _error_response(
    scene: TrafficState, parcel: TrafficDelivery, at_us: int, status: Status, state: str, reason: str
) -> MessagePosted:
    request = parcel.opening
    requester = scene.cast.members[request.sender].service
    origin = parcel.message if parcel.message is request else None
    sender = origin.copies[parcel.copy].hops[-1].service if origin is not None else parcel.message.sender
    return MessagePosted(
        at_us=at_us,
        session=scene.session(at_us),
        transaction=request.transaction,
        sender=sender,
        type=MessageType.RESPONSE,
        topic=request.topic,
        size=0,
        form=BY_NETWORK,
        expires_at_us=at_us + requester.default_expiration_s * 1_000_000,
        directory=scene.routes.directory.version,
        parts=(),
        copies=(Copy(requester.address, (Hop(requester.gcid, (), sender),)),),
        status=status,
        answers=AnsweredDelivery(0, request.session, request.handle),
        keys=(journey_key(parcel.journey), answer_key(parcel.number)),
        ends=JourneyEnding(parcel.journey, parcel.number, state, reason),
    )
