"""The promises of the network, one function each, checked at the end of a simulation; each yields violations.

The history in the journal (``RecordedHistory``) is compared with what services observed (``Observations``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number, delivery_origin
from postroad.testing.simulation.observations import EmptiedMailbox, Observations
from postroad.testing.simulation.recorded_history import RecordedEnd, RecordedHistory, RecordedJourney, RecordedLeg

CROSSING_US = 1_000_000  # a response in transit at the time of the end may still arrive


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOutcome:
    """The results of a finished simulation."""

    books: RecordedHistory
    ledger: Observations
    horizon_us: int  # maximum delay of an end after the expiry
    outages_us: list[tuple[int, int]]  # periods in which the network was down

    def emptied(self, receiver: str, from_us: int, until_us: int) -> list[EmptiedMailbox]:
        """Return the polls that emptied a mailbox between these times."""
        polls = self.ledger.emptied.get(receiver, [])
        first = bisect_left(polls, from_us, key=lambda poll: poll.asked_us)
        last = bisect_left(polls, until_us, key=lambda poll: poll.at_us)
        return polls[first:last]

    def deadline_us(self, expires_at_us: int) -> int:
        """Return the latest time at which something with this expiry must have ended; downtime does not count."""
        deadline_us = expires_at_us + self.horizon_us
        for begins_us, ends_us in self.outages_us:
            if begins_us <= deadline_us and ends_us > expires_at_us:
                deadline_us = max(deadline_us, ends_us + self.horizon_us)
        return deadline_us


def nothing_accepted_is_lost(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 1: no accepted post is lost, and a post that was repeated after a lost response is stored once."""
    handles = Counter((post.session, post.handle) for post in outcome.books.posted.values())
    for session, handle in outcome.ledger.accepted.items():
        if handles[session, handle] != 1:
            yield f"post {handle}, accepted as {session}, is {handles[session, handle]} times in the journal"
    senders = Counter((post.sender, post.handle) for post in outcome.books.posted.values() if post.handle)
    yield from (f"handle {handle} was accepted {times} times" for (_, handle), times in senders.items() if times > 1)


def every_delivery_ends_once(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 2: each delivery ends once, at every service of the route."""
    for leg in outcome.books.legs.values():
        if not leg.ends:
            yield f"{_named(leg, outcome)} never ended"
        elif any(end.state is not leg.state and not _is_over_later(leg, end) for end in leg.ends):
            told = ", ".join(f"{end.state.name.lower()} by entry {end.seq}" for end in leg.ends)
            yield f"{_named(leg, outcome)} has two final states: {told}"


def _is_over_later(leg: RecordedLeg, end: RecordedEnd) -> bool:
    """Return True if a service has accepted it and its journey ends there later: without a response, or with an error."""
    return leg.state is DeliveryState.DELIVERED and end.with_journey


def every_copy_goes_one_way(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 2: in each round a copy is at one service at a time, and does not continue after its end."""
    for legs in outcome.books.copies().values():
        hops = [leg.hop for leg in legs]
        if any(later <= earlier for earlier, later in pairwise(hops)):
            yield f"{_named(legs[0], outcome)} went to hops {hops}"
        for leg in legs[:-1]:
            if leg.state is not DeliveryState.DELIVERED:
                yield f"{_named(leg, outcome)} ended {leg.state.name.lower()}, and its copy went on"


def a_dead_letter_is_dealt_with_once(outcome: SimulationOutcome) -> Iterator[str]:
    """Check that error responses exist only for failed copies, and are in the journal."""
    for leg in outcome.books.legs.values():
        if len(leg.dealt) > 1:
            yield f"{_named(leg, outcome)} was dealt with {len(leg.dealt)} times: {leg.dealt}"
        if leg.dealt and not any(end.state is DeliveryState.FAILED for end in leg.ends):
            yield f"{_named(leg, outcome)} was {leg.dealt[0][0]}, and had not failed"
    for number, delivery in outcome.ledger.resent.items():
        if (
            outcome.books.legs[number].dealt != [("resent", delivery_origin(delivery)[0])]
            or delivery not in outcome.books.legs
        ):
            yield f"dead letter {number:x} was resent as {delivery:x}, which the journal does not know"
    for number in outcome.ledger.dropped:
        if [how for how, _ in outcome.books.legs[number].dealt] != ["dropped"]:
            yield f"dead letter {number:x} was dropped, which the journal does not know"


def ends_are_not_late(outcome: SimulationOutcome) -> Iterator[str]:
    for leg in outcome.books.legs.values():
        if leg.ends and leg.ends[0].at_us > outcome.deadline_us(leg.expires_at_us):
            late_s = (leg.ends[0].at_us - leg.expires_at_us) / 1_000_000
            yield f"{_named(leg, outcome)} ended {late_s:.3f} s after its expiry"


def every_journey_ends_once(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 2: each journey, including a request's way back, ends once and in time, even if no service responds."""
    for journey in outcome.books.journeys.values():
        name = f"the journey of {_named(outcome.books.legs[journey.id], outcome)}"
        if len(journey.ends) != 1:
            yield f"{name} ended {len(journey.ends)} times: {journey.ends}"
        elif journey.ends[0].at_us > outcome.deadline_us(journey.expires_at_us):
            late_s = (journey.ends[0].at_us - journey.expires_at_us) / 1_000_000
            yield f"{name} ended {late_s:.3f} s after its expiry"


def every_request_is_answered_once(outcome: SimulationOutcome) -> Iterator[str]:
    """Each request gets one response, from its recipient or from the network; notifications and cancelled posts get none."""
    for journey in outcome.books.journeys.values():
        ended = {end.state for end in journey.ends}
        expected = int(journey.is_request and not ended <= {DeliveryState.DELIVERED, DeliveryState.CANCELLED})
        if len(journey.errors) != expected or len(journey.responses) > int(journey.is_request):
            name = f"the journey of {_named(outcome.books.legs[journey.id], outcome)}"
            yield f"{name}, ended {ended}, got responses {journey.responses} and error responses {journey.errors}"
        if ended == {DeliveryState.DELIVERED} and journey.is_request and not _has_arrived(journey, outcome):
            yield f"no response has arrived, as it should: {_named(outcome.books.legs[journey.id], outcome)}"


def _has_arrived(journey: RecordedJourney, outcome: SimulationOutcome) -> bool:
    """Return True if the requester has acknowledged the response."""
    copies = [leg for leg in outcome.books.legs.values() if leg.message_seq in journey.responses and leg.is_last]
    return any(leg.state is DeliveryState.DELIVERED for leg in copies)


def what_has_ended_is_not_handed_out(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 3: checked by the order of the journal, and by the receiver's knowledge at its poll."""
    for leg in outcome.books.legs.values():
        late = [lease.seq for lease in leg.leases if leg.ends and lease.seq > leg.ends[0].seq]
        if late:
            yield f"{_named(leg, outcome)} ended with entry {leg.ends[0].seq} and was handed out with {late}"
    for hand_out in outcome.ledger.handed_out:
        done_us = outcome.ledger.acknowledged_us.get(hand_out.number)
        if done_us is not None and done_us < hand_out.asked_us:
            yield f"delivery {hand_out.number:x} was acknowledged before the poll that brought it again"


def what_waits_is_handed_out(outcome: SimulationOutcome) -> Iterator[str]:
    """No delivery is skipped: a receiver that empties its mailbox gets everything in it."""
    first_us: dict[int, int] = {}
    for hand_out in outcome.ledger.handed_out:  # not by the journal: a crash may lose the record of a hand-out
        first_us.setdefault(hand_out.number, hand_out.at_us)
    for leg in outcome.books.legs.values():
        until_us = min(leg.expires_at_us, first_us.get(leg.number, leg.expires_at_us), *(end.at_us for end in leg.ends))
        polls = outcome.emptied(leg.recipient, leg.queued_at_us + CROSSING_US, until_us - CROSSING_US)
        if polls:
            told_s = (polls[0].asked_us - leg.queued_at_us) / 1_000_000
            yield f"{_named(leg, outcome)} was passed over by a poll {told_s:.3f} s after it was accepted"


def nothing_is_handed_out_after_its_expiry(outcome: SimulationOutcome) -> Iterator[str]:
    for hand_out in outcome.ledger.handed_out:
        late_us = hand_out.at_us - hand_out.delivered.expires_at_us
        if late_us > CROSSING_US:
            yield f"delivery {hand_out.number:x} was handed out {late_us / 1_000_000:.6f} s after its expiry"


def only_parties_see_a_message(outcome: SimulationOutcome) -> Iterator[str]:
    """Promise 4: only parties see a message, and they see exactly what was sent to them."""
    for hand_out in outcome.ledger.handed_out:
        leg, delivered = outcome.books.legs.get(hand_out.number), hand_out.delivered
        if leg is None or leg.recipient != hand_out.receiver:
            yield f"delivery {hand_out.number:x} was handed to {hand_out.receiver}, who is not on its way"
        for part in delivered.parts:
            if delivered.handle and not part.data.startswith(delivered.handle.encode()):
                yield f"delivery {hand_out.number:x} came with {part.data[:40]!r}, which is not its own"


def an_acknowledgement_counts(outcome: SimulationOutcome) -> Iterator[str]:
    """An acknowledged delivery stays acknowledged, unless it had ended before."""
    for number, told_us in outcome.ledger.acknowledged_us.items():
        leg = outcome.books.legs[number]
        if not leg.ends or leg.ends[0].at_us > told_us:
            yield f"{_named(leg, outcome)} was acknowledged, which the journal does not know"


def a_delivery_is_answered_once(outcome: SimulationOutcome) -> Iterator[str]:
    for leg in outcome.books.legs.values():
        if len(leg.answers) > 1:
            yield f"{_named(leg, outcome)} was answered by entries {leg.answers}"
    for number in outcome.ledger.answered_us:
        if not outcome.books.legs[number].ends:
            yield f"{_named(outcome.books.legs[number], outcome)} was answered, which the journal does not know"


def what_was_withdrawn_is_cancelled(outcome: SimulationOutcome) -> Iterator[str]:
    """Check that only senders cancel, and each recipient that was reported as cancelled."""
    posts = {post.session: (seq, post) for seq, post in outcome.books.posted.items()}
    for session, by, codes in outcome.ledger.withdrawn:
        seq, post = posts[session]
        if post.sender != by:
            yield f"{by} withdrew {session}, which it had not sent"
        routed = [delivery_number(seq, ordinal) for ordinal, copy in enumerate(post.copies) if not copy.code]
        for number, code in zip(routed, codes, strict=True):
            ended = outcome.books.ended(number)
            if not code and ended is not DeliveryState.CANCELLED:
                yield f"{_named(outcome.books.legs[number], outcome)} was withdrawn, and is {ended.name.lower()}"


def what_is_in_hand_is_not_withdrawn(outcome: SimulationOutcome) -> Iterator[str]:
    """A leased delivery cannot be withdrawn; leases lost in a crash do not count."""
    for leg in outcome.books.legs.values():
        if leg.state is DeliveryState.CANCELLED and leg.is_last and leg.in_hand:
            lease, end = leg.leases[-1], leg.ends[0]
            forgotten = any(
                lease.at_us <= ends_us and begins_us <= end.at_us for begins_us, ends_us in outcome.outages_us
            )
            if end.at_us < lease.until_us and not forgotten:
                yield f"{_named(leg, outcome)} was withdrawn by entry {end.seq}, handed out by entry {lease.seq}"


def nothing_passes_a_suspended_service(outcome: SimulationOutcome) -> Iterator[str]:
    """A suspended service receives nothing, posts nothing, and is on no new route."""
    for service, from_us, until_us in outcome.ledger.suspended:
        certain = range(from_us + CROSSING_US, until_us)
        for hand_out in outcome.ledger.handed_out:
            if hand_out.receiver == service and hand_out.at_us in certain:
                yield f"delivery {hand_out.number:x} was handed to {service}, which was suspended"
        for post in outcome.books.posted.values():
            if post.at_us not in certain or post.ends is not None:
                continue  # responses of the network for a recipient are not posts of that recipient
            if post.sender == service:
                yield f"{post.session} was posted by {service}, which was suspended"
            if post.answers is None and any(hop.service == service for copy in post.copies for hop in copy.hops):
                yield f"{post.session} was routed through {service}, which was suspended"


def every_report_is_true(outcome: SimulationOutcome) -> Iterator[str]:
    yield from outcome.ledger.wrongs


PROMISES: tuple[Callable[[SimulationOutcome], Iterator[str]], ...] = (
    nothing_accepted_is_lost,
    every_delivery_ends_once,
    every_copy_goes_one_way,
    a_dead_letter_is_dealt_with_once,
    ends_are_not_late,
    every_journey_ends_once,
    every_request_is_answered_once,
    what_has_ended_is_not_handed_out,
    what_waits_is_handed_out,
    nothing_is_handed_out_after_its_expiry,
    only_parties_see_a_message,
    an_acknowledgement_counts,
    a_delivery_is_answered_once,
    what_was_withdrawn_is_cancelled,
    what_is_in_hand_is_not_withdrawn,
    nothing_passes_a_suspended_service,
    every_report_is_true,
)


def find_broken_promises(outcome: SimulationOutcome) -> list[str]:
    """Return every broken promise, with its name."""
    return [f"{promise.__name__}: {fault}" for promise in PROMISES for fault in promise(outcome)]


def _named(leg: RecordedLeg, outcome: SimulationOutcome) -> str:
    post = outcome.books.posted[leg.message_seq]
    return f"{post.type.value} {post.handle or post.session}, copy {leg.copy}, hop {leg.hop} (delivery {leg.number:x})"
