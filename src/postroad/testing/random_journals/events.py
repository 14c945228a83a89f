"""Random journal events for property tests, one function per event.

Rule: the events are consistent. Only existing, waiting deliveries are leased, returned, acknowledged or ended; deliveries
in a batch are only acknowledged or ended. A response belongs to its request, a journey ends once, and a route that
changed during delivery is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    AccessRecorded,
    AnsweredDelivery,
    ConfigurationChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    Entry,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
    NetworkRestored,
    ObjectChange,
)
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Copy
from postroad.core.model.secret_entries import REMOVED, SET, SecretChanged
from postroad.testing.random_journals.batch_events import (
    answer_interchange,
    assemble,
    change_batches,
    changed_batch,
    join,
)
from postroad.testing.random_journals.billing_events import bill
from postroad.testing.random_journals.state import JournalState, WaitingDelivery
from postroad.testing.random_journals.values import (
    ENDINGS,
    SERVICES,
    Draw,
    an_expiry,
    arrivals,
    cross_reference,
    formats,
    hops,
    logical,
    reasons,
    returned,
    sizes,
    statuses,
    times,
    words,
)


def change_secret(draw: Draw, story: JournalState) -> Entry:
    """Draw a secret that is set or removed; its version is the number of the entry, so it grows.

    Rule: each version of a secret is used once.
    """
    what = draw(st.sampled_from([SET, REMOVED]))
    return SecretChanged(
        at_us=draw(times),
        by=draw(words),
        what=what,
        organization=draw(st.sampled_from(["Acme", "acme", "Straße"])),
        service=draw(st.sampled_from(["", SERVICES[0]])),
        name=draw(st.sampled_from(["hook", "Hook", "as2.key"])),
        version=story.next_seq,
        digest="" if what == REMOVED else "ab" * 32,
    )


def _post(draw: Draw, story: JournalState) -> Entry:
    answered = draw(st.sampled_from(story.waiting)) if story.waiting and draw(st.booleans()) else None
    answers = _answers(draw, answered) if answered else None
    kind, assembled = draw(st.sampled_from(MessageType)), assemble(draw, story)
    entry = _message(draw, story, answered, type=kind, answers=answers, assembled=assembled)
    if answered:
        story.forget([answered.number])
        if answered.journey in story.journeys and answers and answers.journey:
            story.journeys[answered.journey] = delivery_number(story.next_seq, 0)
    story.queue(entry)
    return entry


def _answers(draw: Draw, answered: WaitingDelivery) -> AnsweredDelivery:
    journey = answered.journey if draw(st.integers(0, 4)) else 0  # 0: as in entries from before journeys were recorded
    return AnsweredDelivery(answered.number, answered.message.session, answered.message.handle, journey)


def _message(draw: Draw, story: JournalState, answered: WaitingDelivery | None, **more: Any) -> MessagePosted:
    return MessagePosted(
        at_us=draw(times), session=story.session(), sender=draw(st.sampled_from(SERVICES)), form=draw(formats), directory=1,
        transaction=answered.message.transaction if answered else story.session(), topic=draw(words), size=draw(sizes),
        expires_at_us=draw(an_expiry), copies=tuple(_copy(draw) for _ in range(draw(st.integers(1, 3)))),
        handle=draw(words), parts=(PartFacts("p", "text/plain", 3),), idempotency=draw(words),
        explained=draw(st.sampled_from([0, 3])), shown_sender=draw(st.sampled_from(["", SERVICES[0]])),
        arrival=draw(arrivals), **more,
    )  # fmt: skip


def _give_up(draw: Draw, story: JournalState) -> Entry | None:
    """End a journey by the network, with an error response to the sender."""
    if not story.journeys:
        return None
    journey = draw(st.sampled_from(sorted(story.journeys)))
    at = next((one for one in story.waiting if one.number == story.journeys[journey]), None)
    ends = JourneyEnding(journey, at.number if at else 0, draw(st.sampled_from(ENDINGS)), draw(words), draw(reasons))
    answers = AnsweredDelivery(at.number, at.message.session, journey=journey) if at and draw(st.booleans()) else None
    entry = _message(draw, story, at, type=MessageType.RESPONSE, answers=answers, ends=ends)
    story.end_journeys([journey])
    story.forget([ends.delivery], ends.state)
    story.queue(entry)
    return entry


def _copy(draw: Draw) -> Copy:
    if draw(st.integers(0, 5)) == 0:
        return Copy(named=draw(words), code="recipient.unknown", detail=draw(words))
    return Copy(named=draw(words), hops=draw(hops), logical=draw(logical))


def _return_invocation(draw: Draw, story: JournalState) -> Entry | None:
    in_transit = [one for one in story.waiting if one.hop + 1 < len(one.route)]
    if not in_transit:
        return None
    one = draw(st.sampled_from(in_transit))
    changed = (*one.route[: one.hop + 1], *draw(hops)) if draw(st.booleans()) else ()
    route = changed or one.route
    number = delivery_number(story.next_seq, 0)
    journey = one.journey if draw(st.integers(0, 4)) else 0
    story.forget([one.number])
    onward = WaitingDelivery(
        number=number,
        message_seq=one.message_seq,
        message=one.message,
        copy=one.copy,
        hop=one.hop + 1,
        route=route,
        content_seq=story.next_seq,
        journey=journey,
    )
    story.waiting.append(onward)
    if journey in story.journeys:
        story.journeys[journey] = number
    return InvocationReturned(
        at_us=draw(times), delivery=one.number, session=story.session(), transaction=one.message.transaction, copy=one.copy,
        by=route[one.hop].service, message=one.message_seq, hop=one.hop + 1, next=route[one.hop + 1].service,
        size=draw(sizes), expires_at_us=draw(an_expiry), parts=(PartFacts("q", draw(words), 1),), journey=journey,
        hops=changed, logical=draw(logical) if changed else (), returned=draw(returned), status=draw(statuses),
        explained=draw(st.sampled_from([0, 3])), directory=draw(st.integers(0, 9)), wrapper_bytes=draw(st.sampled_from([0, 2])),
    )  # fmt: skip


def _lease(draw: Draw, story: JournalState) -> Entry | None:
    if not story.free:
        return None
    return DeliveriesLeased(
        at_us=draw(times), by=draw(st.sampled_from(SERVICES)), lease_s=30.0, deliveries=story.choose(draw, story.free)
    )


def _give_back(draw: Draw, story: JournalState) -> Entry | None:
    if not story.free:
        return None
    delay_s = draw(st.sampled_from([0.0, 1.5, 60.0]))
    return DeliveriesReturned(
        at_us=draw(times),
        by=draw(words),
        reason=draw(words),
        delay_s=delay_s,
        deliveries=story.choose(draw, story.free),
    )


def _attempt(draw: Draw, story: JournalState) -> Entry | None:
    if not story.free:
        return None
    status = draw(st.sampled_from([0, 200, 302, 503]))
    numbers, delay_s = story.choose(draw, story.free), draw(st.sampled_from([0.0, 5.0]))
    return DeliveryAttempted(
        at_us=draw(times),
        by=draw(st.sampled_from(SERVICES)),
        deliveries=numbers,
        status=status,
        duration_ms=12,
        fault=draw(words),
        delay_s=delay_s,
        why=draw(reasons),
    )


def _translate(draw: Draw, story: JournalState) -> Entry | None:
    if not story.waiting:
        return None
    one = draw(st.sampled_from(story.waiting))
    by, dropped = one.route[one.hop].service, tuple(draw(st.lists(words, min_size=1, max_size=3)))
    return DeliveryTranslated(
        at_us=draw(times), by=by, delivery=one.number, form=one.message.form, format=draw(formats), dropped=dropped
    )


def _release(draw: Draw, story: JournalState) -> Entry | None:
    if not story.waiting:
        return None
    newest = draw(st.sampled_from(story.waiting))
    service = newest.route[newest.hop].service
    return DeliveriesReleased(
        at_us=draw(times),
        by=draw(words),
        service=service,
        reason=draw(words),
        up_to=newest.number,
        waiting=draw(st.integers(1, 9)),
    )


def _acknowledge(draw: Draw, story: JournalState) -> Entry | None:
    if not story.waiting:
        return None
    numbers = story.choose(draw)
    story.forget(numbers)
    ended = story.end_journeys_at(draw, numbers)
    return DeliveriesAcknowledged(
        at_us=draw(times), by=draw(words), deliveries=numbers, journeys=ended, batch=changed_batch(draw, story)
    )


def _end(draw: Draw, story: JournalState) -> Entry | None:
    """End deliveries, perhaps with the journeys at them, or end journeys alone, at which nothing waits."""
    numbers = story.choose(draw) if story.waiting and draw(st.booleans()) else ()
    ended = story.end_journeys_at(draw, numbers or tuple(story.journeys.values()))
    if not numbers and not ended:
        return None
    state = draw(st.sampled_from(ENDINGS))
    story.forget(numbers, state)
    return DeliveriesEnded(
        at_us=draw(times),
        by="network",
        state=state,
        reason=draw(words),
        deliveries=numbers,
        journeys=ended,
        batch=changed_batch(draw, story),
        why=draw(reasons),
    )


def _resend(draw: Draw, story: JournalState) -> Entry | None:
    if not story.dead:
        return None
    dead = story.dead.pop(draw(st.integers(0, len(story.dead) - 1)))
    number, followed = delivery_number(story.next_seq, 0), draw(st.booleans())
    again = replace(dead, number=number, origin=dead.origin or dead.number, journey=number if followed else 0)
    story.waiting.append(again)
    if followed:
        story.journeys[number] = number
    message = dead.message
    return DeliveryResent(
        at_us=draw(times), by=draw(words), reason=draw(words), delivery=dead.number, origin=again.origin,
        session=message.session, transaction=message.transaction, sender=draw(st.sampled_from(SERVICES)),
        message=dead.message_seq, copy=dead.copy, hop=dead.hop, content=dead.content_seq,
        next=dead.route[dead.hop].service, expires_at_us=draw(an_expiry), followed=followed,
        answer=message.answers is not None,
    )  # fmt: skip


def _drop(draw: Draw, story: JournalState) -> Entry | None:
    if not story.dead:
        return None
    dropped = tuple(story.dead.pop().number for _ in range(draw(st.integers(1, len(story.dead)))))
    return DeliveriesDropped(at_us=draw(times), by=draw(words), reason=draw(words), deliveries=dropped)


def _refuse(draw: Draw, story: JournalState) -> Entry:
    sender = draw(st.sampled_from(("", *SERVICES)))
    size = draw(sizes)
    return MessageRefused(
        at_us=draw(times),
        session=story.session(),
        sender=sender,
        code="topic.unknown",
        detail=draw(words),
        size=size,
        form="soap12",
        handle=draw(words),
    )


def _configure(draw: Draw, story: JournalState) -> Entry:
    objects = []
    for _ in range(draw(st.integers(1, 3))):
        kind, key = draw(st.sampled_from(["service", "rule"])), draw(st.sampled_from(["a", "ä", "Z", ""]))
        version = story.versions[kind, key] = story.versions.get((kind, key), 0) + 1
        value = draw(st.none() | st.dictionaries(words, words, max_size=2))
        objects.append(ObjectChange(kind, key, version, value))
    return ConfigurationChanged(at_us=draw(times), by=draw(words), reason=draw(words), objects=tuple(objects))


def _access(draw: Draw, story: JournalState) -> Entry:
    return AccessRecorded(at_us=draw(times), by=draw(words), what="login.failed", detail=draw(words))


def _restore(draw: Draw, story: JournalState) -> Entry:
    return NetworkRestored(
        at_us=draw(times),
        by=draw(words),
        cut=draw(st.integers(0, 99)),
        chain=bytes(32),
        reason=draw(words),
        skip_numbers=1000,
    )


def _cross_reference(draw: Draw, story: JournalState) -> Entry:
    return draw(cross_reference)  # type: ignore[no-any-return]


EVENTS: tuple[Callable[[Draw, JournalState], Entry | None], ...] = (
    _post,
    _post,
    _give_up,
    _return_invocation,
    _return_invocation,
    _lease,
    _lease,
    _give_back,
    _attempt,
    _translate,
    _release,
    _acknowledge,
    _end,
    _end,
    _resend,
    _drop,
    _refuse,
    _configure,
    _access,
    _restore,
    _cross_reference,
    join,
    join,
    change_batches,
    answer_interchange,
    bill,
    change_secret,
)


def add_random_entry(draw: Draw, story: JournalState) -> None:
    """Add one more entry; a post if the drawn event is not possible now."""
    story.entries.append(draw(st.sampled_from(EVENTS))(draw, story) or _post(draw, story))
