"""Resend or drop dead letters, and find the delivery rounds of a copy.

Rules: a dead letter is resent or dropped once, which the key of its entry guarantees. A resend begins a new round at the
service where the message failed, with the content that it had there. Nothing is resent to a service that the sender
may no longer send to.

A round is found through the post that began the journey.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.delivery.dead_letters import DeadLetter, round_expiry_us
from postroad.core.model import ids
from postroad.core.model.contexts import Ancestry
from postroad.core.model.delivery import is_followed
from postroad.core.model.directory import Service
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesDropped, DeliveryResent, MessagePosted, decode
from postroad.core.model.snapshot import Directory
from postroad.core.projection.delivery_rows import COLUMN, found_from_row
from postroad.core.projection.queries import LETTER, WAITING
from postroad.core.projection.tables import TABLES
from postroad.core.projection.unique_keys import dead_letter_key
from postroad.errors import Refused
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.ports import Committed, Conflict, IndexReader, Journal, JournalRecord, JournalStep

OWN = len(LETTER) - len(WAITING)  # columns of the letter itself


class DeadLetterStage:
    """Resends and drops dead letters, each at most once."""

    def __init__(self, plumbing: Plumbing, due: DueTimes) -> None:
        self._desk, self._clock, self._directory = plumbing.desk, plumbing.clock, plumbing.directory
        self._due = due

    async def find(self, index: IndexReader, number: int) -> DeadLetter | None:
        """Return a dead letter, handled or not; the index must have caught up."""
        rows = await index.query("dead_letter", number)
        return self.from_row(rows[0]) if rows else None

    def from_row(self, row: tuple[Any, ...]) -> DeadLetter:
        """Decode the letter in a row of the queries about dead letters."""
        delivery = row[OWN:]
        queued = found_from_row(delivery, now=self._clock.monotonic(), now_us=self._clock.now_us()).queued
        return DeadLetter(queued, delivery[COLUMN["sender"]], delivery[COLUMN["content_seq"]], *row[:OWN])

    async def check(self, letter: DeadLetter) -> None:
        """Refuse letters that cannot be delivered where they failed."""
        queued, directory = letter.queued, self._directory()
        if letter.dealt_seq:
            raise already_handled_error()
        service = directory.services.get(queued.recipient)
        if service is None:
            raise Refused("recipient.unknown", "The service where it failed no longer exists; drop it instead")
        _check_standing(letter, service, directory)
        if await self._desk.body(queued) is None:
            raise Refused("body.dropped", "Its documents are no longer stored; have it posted again, and drop it")

    async def resend(self, letter: DeadLetter, by: str, reason: str, expires_at_us: int | None = None) -> int:
        """Resend a checked letter and return its new delivery number; Refused if it was handled meanwhile."""
        entry = self._entry(letter, by, reason, expires_at_us)
        outcome = await commit_step(self._desk, JournalStep(entry, keys=(dead_letter_key(letter.queued.number),)))
        if isinstance(outcome, Conflict):
            raise already_handled_error()
        self._due.note(entry.expires_at_us)
        return delivery_number(outcome.seq, 0)

    def _entry(self, letter: DeadLetter, by: str, reason: str, expires_at_us: int | None) -> DeliveryResent:
        queued, now_us = letter.queued, self._clock.now_us()
        return DeliveryResent(
            at_us=now_us,
            by=by,
            reason=reason,
            delivery=queued.number,
            origin=queued.origin or queued.number,
            session=queued.message.session,
            transaction=queued.message.transaction,
            sender=letter.sender,
            message=queued.message_seq,
            copy=queued.copy,
            hop=queued.hop,
            content=letter.content_seq,
            next=queued.recipient,
            expires_at_us=round_expiry_us(letter, now_us) if expires_at_us is None else expires_at_us,
            followed=queued.journey > 0,
            answer=queued.message.answers is not None,
        )

    async def drop(self, letters: Sequence[DeadLetter], by: str, reason: str) -> list[int]:
        """Drop letters; returns those that were handled before."""
        numbers = tuple(letter.queued.number for letter in letters if not letter.dealt_seq)
        before = [letter.queued.number for letter in letters if letter.dealt_seq]
        if numbers and not await self._drop(numbers, by, reason):
            before += [number for number in numbers if len(numbers) == 1 or not await self._drop((number,), by, reason)]
        return before

    async def _drop(self, numbers: tuple[int, ...], by: str, reason: str) -> bool:
        entry = DeliveriesDropped(at_us=self._clock.now_us(), by=by, reason=reason, deliveries=numbers)
        step = JournalStep(entry, keys=tuple([dead_letter_key(number) for number in numbers]), reserve=True)
        return isinstance(await commit_step(self._desk, step), Committed)


def already_handled_error() -> Refused:
    return Refused("dead-letter.dealt", "This dead letter has already been resent or dropped; see its message's trace")


def _check_standing(letter: DeadLetter, service: Service, directory: Directory) -> None:
    """Check that the party that included the service may still send to it; responses may always return."""
    queued = letter.queued
    sender = directory.services.get(queued.message.sender)
    if sender is not None and directory.is_suspended(sender):
        raise Refused("sender.suspended", "The sender is suspended; resend it when the suspension ends")
    if any(directory.is_suspended(one) for one in _others_on_the_way(letter, directory)):
        raise Refused("recipient.suspended", "A service on its route is suspended; resend it when the suspension ends")
    invoker = directory.services.get(queued.hops[queued.hop].invoker or queued.message.sender)
    if queued.message.answers is not None and not queued.in_transit:
        if directory.is_suspended(service):
            raise Refused(
                "recipient.suspended", "The service where it failed is suspended; resend it when the suspension ends"
            )
    elif invoker is None:
        raise Refused("recipient.not-allowed", "The service that inserted this one no longer exists; drop it")
    else:
        find_permitted_recipient(invoker, service.gcid, directory)


def _others_on_the_way(letter: DeadLetter, directory: Directory) -> list[Service]:
    """Return the services that included this one and those still to come; none for a response."""
    queued = letter.queued
    ancestry = Ancestry(queued.hops, queued.logical)
    above = [ancestry.hop(context.parent) for context in ancestry.upwards(queued.hop)]
    beyond = queued.hops[queued.hop + 1 :] if queued.message.answers is None else ()
    found = [directory.services.get(hop.service) for hop in (*above, *beyond) if hop is not None]
    return [service for service in found if service is not None]


READ_BYTES = 256 << 10  # of the journal at a time, for entries that may be close together
ROUND = {column: place for place, column in enumerate(TABLES["round"])}


class JourneyOrigin(NamedTuple):
    """The post that began a journey, and the index of its copy."""

    message: MessagePosted
    copy: int


class DeliveryRound(NamedTuple):
    """The first delivery of a round and its journey; 0 if there is no journey."""

    delivery: int
    journey: int


async def find_journey_origin(journal: Journal, journey: int) -> JourneyOrigin | None:
    """Return the post and copy that a journey belongs to; for a resend or response, those of the original."""
    while True:
        seq, ordinal = ids.delivery_origin(journey)
        batch = await journal.read(seq - 1, 1)
        entry = decode(batch.records[0].facts) if batch.records else None
        if isinstance(entry, MessagePosted):
            return JourneyOrigin(entry, ordinal)
        if not isinstance(entry, DeliveryResent):
            return None
        if not entry.answer:
            journey = ids.delivery_number(entry.message, entry.copy)
            continue
        batch = await journal.read(entry.message - 1, 1)
        response = decode(batch.records[0].facts)
        if not isinstance(response, MessagePosted) or response.answers is None:
            return None
        journey = response.answers.journey


async def find_journey_origins(journal: Journal, journeys: Collection[int]) -> dict[int, JourneyOrigin]:
    """Return the posts and copies of several journeys; nearby entries are read together."""
    found: dict[int, JourneyOrigin] = {}
    records: Sequence[JournalRecord] = ()
    for journey in sorted(set(journeys)):
        seq, ordinal = ids.delivery_origin(journey)
        if not records or seq > records[-1].seq:
            records = (await journal.read(seq - 1, READ_BYTES)).records
        entry = decode(records[seq - records[0].seq].facts) if records else None
        if isinstance(entry, MessagePosted):
            found[journey] = JourneyOrigin(entry, ordinal)
        elif (one := await find_journey_origin(journal, journey)) is not None:
            found[journey] = one
    return found


async def find_newest_round(index: IndexReader, seq: int, message: MessagePosted, copy: int) -> DeliveryRound:
    """Return the latest round of a copy; the index must have caught up."""
    rows = [row for row in await index.query("message_rounds", seq) if row[ROUND["copy"]] == copy]
    if rows:
        return DeliveryRound(ids.delivery_number(rows[-1][ROUND["seq"]], 0), rows[-1][ROUND["journey"]])
    first = ids.delivery_number(seq, copy)
    return DeliveryRound(first, first if is_followed(message, copy) else 0)
