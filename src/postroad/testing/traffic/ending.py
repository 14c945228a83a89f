"""Journeys that end before their time: expired, given up, failed or rejected on the way, withdrawn.

Kept rules: those of ``flow.end``. A request's sender is told by an error response in the entry that ends the journey; a
notification ends in silence.
"""

from __future__ import annotations

from postroad.core.model.journal import Answers, Copy, DeliveriesEnded, Ending, Hop, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.projection.keys import answer_key, journey_key
from postroad.testing.traffic.parcel import Parcel, parcels_of
from postroad.testing.traffic.scene import Scene
from postroad.testing.traffic.timetable import Step, Story

NETWORK = "network"
NOT_FETCHED = "not fetched before it expired"
EXPIRED = Status("route.expired", "The message expired before its journey was over")


def expire(scene: Scene, parcel: Parcel) -> Story:
    """Nobody has fetched or answered it in time."""
    return end(scene, parcel, parcel.expires_at_us, "expired", EXPIRED)


def end(scene: Scene, parcel: Parcel, at_us: int, state: str, status: Status) -> Story:
    """The journey is over, or the delivery if it is all there is; whoever waits for a response is told."""
    reason = f"{status.code}: {status.text}"
    if not parcel.journey:
        told = NOT_FETCHED if state == "expired" else status.text
        yield Step(at_us, DeliveriesEnded(at_us, NETWORK, state, told, (parcel.number,)))
    elif parcel.opening.type is not MessageType.REQUEST:
        yield Step(at_us, DeliveriesEnded(at_us, NETWORK, state, reason, (parcel.number,), (parcel.journey,)))
    else:
        told_by_network = _error_response(scene, parcel, at_us, status, state, reason)
        seq = yield Step(at_us, told_by_network)
        [parcel] = parcels_of(told_by_network, seq, None)
        scene.arrive(parcel, at_us)


def withdraw(scene: Scene, parcel: Parcel, at_us: int) -> Story:
    """Its sender has changed its mind."""
    journeys = (parcel.journey,) if parcel.journey else ()
    reason = "withdrawn by its sender"
    sender = scene.cast.members[parcel.opening.sender]
    stamp = scene.stamp(sender, at_us)
    yield Step(at_us, DeliveriesEnded(stamp, sender.gcid, "cancelled", reason, (parcel.number,), journeys))


def _error_response(scene: Scene, parcel: Parcel, at_us: int, status: Status, state: str, reason: str) -> MessagePosted:
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
        form=NETWORK,
        expires_at_us=at_us + requester.default_expiration_s * 1_000_000,
        directory=scene.routes.directory.version,
        parts=(),
        copies=(Copy(requester.address, (Hop(requester.gcid, (), sender),)),),
        status=status,
        answers=Answers(0, request.session, request.handle),
        keys=(journey_key(parcel.journey), answer_key(parcel.number)),
        ends=Ending(parcel.journey, parcel.number, state, reason),
    )
