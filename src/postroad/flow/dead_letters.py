"""Deal with dead letters: have them delivered once more, or put them aside.

Kept rules: a letter is dealt with once, which the key of its entry guards; what is resent begins a new round at the service where
it failed, with the content that it had there; nothing is resent to who may not be sent to any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from postroad.core.admission.permission import permitted
from postroad.core.delivery.dead_letters import DeadLetter, expiry_of_round
from postroad.core.delivery.waiting import COLUMN, found_from_row
from postroad.core.model.directory import Service
from postroad.core.model.journal import DeliveriesDropped, DeliveryResent
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import dealt_key
from postroad.core.projection.queries import LETTER, WAITING
from postroad.core.routing.contexts import Ancestry
from postroad.errors import Refused
from postroad.flow.commit import committed
from postroad.flow.due import DueTimes
from postroad.ports import Clock, Committed, Conflict, Desk, IndexReader, Step

OWN = len(LETTER) - len(WAITING)  # columns that are the letter's own


class DeadLetterStage:
    def __init__(self, desk: Desk, directory: Callable[[], Directory], clock: Clock, due: DueTimes) -> None:
        self._desk = desk
        self._directory = directory
        self._clock = clock
        self._due = due

    async def find(self, index: IndexReader, number: int) -> DeadLetter | None:
        """A dead letter, dealt with or not; the index must have caught up before."""
        rows = await index.query("dead_letter", number)
        return self.from_row(rows[0]) if rows else None

    def from_row(self, row: tuple[Any, ...]) -> DeadLetter:
        """The letter that a row of the queries about dead letters describes."""
        delivery = row[OWN:]
        queued = found_from_row(delivery, now=self._clock.monotonic(), now_us=self._clock.now_us()).queued
        return DeadLetter(queued, delivery[COLUMN["sender"]], delivery[COLUMN["content_seq"]], *row[:OWN])

    async def check(self, letter: DeadLetter) -> None:
        """Refuse what cannot be delivered where it failed."""
        queued, directory = letter.queued, self._directory()
        if letter.dealt_seq:
            raise dealt_with()
        service = directory.services.get(queued.recipient)
        if service is None:
            raise Refused(
                "recipient.unknown", "The service at which it failed does not exist any more; drop it instead"
            )
        _check_standing(letter, service, directory)
        if await self._desk.body(queued) is None:
            raise Refused("body.dropped", "Its documents are no longer kept; have it posted anew, and drop it")

    async def resend(self, letter: DeadLetter, by: str, reason: str, expires_at_us: int | None = None) -> int:
        """Deliver what was checked once more, and say under which number; raises Refused when somebody was quicker."""
        entry = self._entry(letter, by, reason, expires_at_us)
        outcome = await committed(self._desk, Step(entry, keys=(dealt_key(letter.queued.number),)))
        if isinstance(outcome, Conflict):
            raise dealt_with()
        self._due.note(entry.expires_at_us)
        return outcome.seq << 16

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
            expires_at_us=expiry_of_round(letter, now_us) if expires_at_us is None else expires_at_us,
            followed=queued.journey > 0,
            answer=queued.message.answers is not None,
        )

    async def drop(self, letters: Sequence[DeadLetter], by: str, reason: str) -> list[int]:
        """Put them aside, and return those that somebody else had dealt with before."""
        numbers = tuple(letter.queued.number for letter in letters if not letter.dealt_seq)
        before = [letter.queued.number for letter in letters if letter.dealt_seq]
        if numbers and not await self._drop(numbers, by, reason):
            before += [number for number in numbers if len(numbers) == 1 or not await self._drop((number,), by, reason)]
        return before

    async def _drop(self, numbers: tuple[int, ...], by: str, reason: str) -> bool:
        entry = DeliveriesDropped(self._clock.now_us(), by, reason, numbers)
        step = Step(entry, keys=tuple([dealt_key(number) for number in numbers]), reserve=True)
        return isinstance(await committed(self._desk, step), Committed)


def dealt_with() -> Refused:
    return Refused("dead-letter.dealt", "This dead letter has been resent or dropped already; see its message's trace")


def _check_standing(letter: DeadLetter, service: Service, directory: Directory) -> None:
    """Whoever brought the service in must still be allowed to send to it; a response may always go back to who asked."""
    queued = letter.queued
    sender = directory.services.get(queued.message.sender)
    if sender is not None and directory.is_suspended(sender):
        raise Refused("sender.suspended", "The service that sent it is suspended; resend it when that is over")
    if any(directory.is_suspended(one) for one in _others_on_the_way(letter, directory)):
        raise Refused("recipient.suspended", "A service on its way is suspended; resend it when that one is back")
    invoker = directory.services.get(queued.hops[queued.hop].invoker or queued.message.sender)
    if queued.message.answers is not None and not queued.in_transit:
        if directory.is_suspended(service):
            raise Refused(
                "recipient.suspended", "The service at which it failed is suspended; resend it when it is back"
            )
    elif invoker is None:
        raise Refused("recipient.not-allowed", "The service that brought this one in does not exist any more; drop it")
    else:
        permitted(invoker, service.gcid, directory)


def _others_on_the_way(letter: DeadLetter, directory: Directory) -> list[Service]:
    """Those that brought the service in, and those that the message would go on to; a response goes back whatever happens."""
    queued = letter.queued
    ancestry = Ancestry(queued.hops, queued.logical)
    above = [ancestry.hop(context.parent) for context in ancestry.upwards(queued.hop)]
    beyond = queued.hops[queued.hop + 1 :] if queued.message.answers is None else ()
    found = [directory.services.get(hop.service) for hop in (*above, *beyond) if hop is not None]
    return [service for service in found if service is not None]
