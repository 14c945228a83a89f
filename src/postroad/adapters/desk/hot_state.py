"""In-memory state of the local desk: open deliveries by mailbox, those being settled, and those settled recently.

Rule: ``apply`` is called for durable entries only, in the order of their numbers, and is the single place where an entry
changes memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from postroad.adapters.desk.entry_effects import list_batched_deliveries, list_ended_deliveries
from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.core.delivery.mailbox import MAX_HEAD, Mailbox
from postroad.core.model.billing_entries import BillingJournalEntry, InvoiceCredited, InvoiceIssued, PaymentRecorded
from postroad.core.model.delivery import FINAL, DeliveryState, FoundDelivery, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    BatchesChanged,
    ConfigurationChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    Entry,
    InterchangeAnswered,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.model.secret_entries import SecretChanged
from postroad.core.projection.delivery_rows import posted_content, returned_content
from postroad.core.projection.unique_keys import FLAGGED_FROM, unique_keys
from postroad.ports import BodyAt, Clock

MAX_RECENT = 20_000  # settled deliveries kept in memory, so that a prompt response needs no index query
WARM_BYTES = 128 << 20  # bodies of waiting deliveries kept in memory


# Entries that change nothing here except which keys are used.
KEYS_ONLY = (
    ConfigurationChanged, DeliveriesDropped, InterchangeAnswered, InvoiceIssued, InvoiceCredited, PaymentRecorded, SecretChanged,
)  # fmt: skip


class HotState:
    def __init__(self, clock: Clock, *, head_most: int = MAX_HEAD) -> None:
        self.keys = SeenKeys()
        self.flagged = SeenKeys()  # handles accepted as possible duplicates: few, so nearly always complete
        self.applied_seq = 0
        # The last entry that changed a delivery that is not in memory. An index without this entry may report an ended
        # delivery as waiting.
        self.index_must_know = 0
        self._clock = clock
        self._head_most = head_most
        self._boxes: dict[str, Mailbox] = {}
        self._open: dict[int, Mailbox] = {}
        self._held: dict[int, Queued] = {}
        self._settling: set[int] = set()  # also deliveries that are not in memory, and must not be loaded now
        self._recent: OrderedDict[int, FoundDelivery] = OrderedDict()
        self._over: OrderedDict[int, None] = OrderedDict()  # recently ended, also if not in memory
        self._arrivals: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._hastened_us: dict[str, int] = {}  # by recipient: when waiting push retries were made available
        self._warm_bytes = 0
        self._woken = False
        self.unseen_ends = 0  # deliveries that ended while not in memory, so that no mailbox counts them
        # By type rather than by isinstance: this runs for every entry.
        self._effects: dict[type, Callable[[Any, int, BodyAt | None, bytes | None], None]] = {
            MessagePosted: self._apply_post,
            InvocationReturned: self._apply_return,
            DeliveriesReturned: self._apply_give_back,
            DeliveryAttempted: self._apply_give_back,
            DeliveriesAcknowledged: self._apply_acknowledgement,
            DeliveriesEnded: self._apply_end,
            DeliveryResent: self._apply_resend,
            DeliveriesReleased: self._apply_release,
            BatchesChanged: self._apply_batches,
            **dict.fromkeys(KEYS_ONLY, self._apply_keys),
        }
        self._loads = 0
        self._closed_while_loading: set[int] = set()

    def mailbox(self, recipient: str) -> Mailbox:
        box = self._boxes.get(recipient)
        if box is None:
            box = self._boxes[recipient] = Mailbox(self._head_most)
        return box

    def count_leased(self) -> dict[str, int]:
        """Return the number of leased deliveries by mailbox, of those that have any."""
        now = self._clock.monotonic()
        counts = {recipient: box.count_leased(now) for recipient, box in self._boxes.items() if len(box)}
        return {recipient: count for recipient, count in counts.items() if count}

    def find(self, number: int) -> FoundDelivery | None:
        if (held := self._held.get(number)) is not None:
            return FoundDelivery(held, DeliveryState.QUEUED)
        box = self._open.get(number)
        if box is not None and (queued := box.get(number)) is not None:
            return FoundDelivery(queued, DeliveryState.QUEUED)
        return self._recent.get(number)

    def is_open(self, number: int) -> bool:
        """Whether the delivery is in memory, like every one that was handed out, and neither ended nor in a batch."""
        return number in self._open

    def is_over(self, number: int) -> bool:
        """Whether the delivery ended recently."""
        return number in self._over

    def has_key(self, key: int) -> bool:
        """Whether a recent entry used the key."""
        return self.keys.has(key) or (key >= FLAGGED_FROM and self.flagged.has(key))

    def decides(self, key: int) -> bool:
        """Whether ``has_key`` is certain about this key."""
        return self.keys.decides(key) or (key >= FLAGGED_FROM and self.flagged.decides(key))

    def is_newer_than(self, number: int) -> bool:
        """Whether memory is newer than a row that was just read from the index."""
        return (
            number in self._open
            or number in self._recent
            or number in self._settling
            or number in self._closed_while_loading
        )

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Record what is closed while the index is being read, since the rows may still report it as waiting."""
        self._loads += 1
        try:
            yield
        finally:
            self._loads -= 1
            if not self._loads:
                self._closed_while_loading.clear()

    def load(self, box: Mailbox, queued: Queued) -> None:
        """Add a waiting delivery from the index; one that is being settled is held until the outcome is known."""
        number = queued.number
        if number in self._open or number in self._recent or number in self._closed_while_loading:
            return
        box.load(queued)
        self._open[number] = box
        if number in self._settling:
            box.close(number)
            self._held[number] = queued

    def adopt(self, box: Mailbox, queued: Queued) -> None:
        """Add a waiting delivery from behind the head; from now on it is offered from memory."""
        if not self.is_newer_than(queued.number):
            box.adopt(queued)
            self._open[queued.number] = box

    def waiting(self, recipient: str) -> int:
        """Return the number of deliveries that wait for the service."""
        return box.queued if (box := self._boxes.get(recipient)) is not None else 0

    def set_waiting(self, counts: Mapping[str, int]) -> None:
        """Replace the number of waiting deliveries of every service."""
        self.unseen_ends = 0
        for recipient in {*self._boxes, *counts}:
            self.mailbox(recipient).queued = counts.get(recipient, 0)

    def arrivals(self, recipient: str) -> set[asyncio.Future[None]]:
        return self._arrivals[recipient]

    def hasten(self, recipient: str) -> int:
        """Make deliveries that wait for a push retry available, now and when read from the index; returns their number."""
        self._hastened_us[recipient] = self._clock.now_us()
        hastened = self.mailbox(recipient).hasten()
        if hastened:
            self.wake(recipient)
        return hastened

    def is_hastened(self, recipient: str, put_off_at_us: int) -> bool:
        """Whether a push retry that was scheduled at ``put_off_at_us`` no longer has to wait."""
        return put_off_at_us <= self._hastened_us.get(recipient, 0)

    def wake(self, recipient: str) -> None:
        for future in self._arrivals.get(recipient, ()):
            if not future.done():
                future.set_result(None)
                self._woken = True

    def wake_all(self) -> None:
        """Wake every waiting poll, after a test has advanced the clock."""
        for recipient in self._arrivals:
            self.wake(recipient)

    def take_woken(self) -> bool:
        """Whether a poll was woken since the last call."""
        woken, self._woken = self._woken, False
        return woken

    # --- settling in two steps: hold when submitted, apply or release when the outcome is known --------------------

    def hold(self, entry: Entry) -> tuple[int, ...]:
        """Do not hand out deliveries that the entry will settle or add to a batch, until its outcome is known.

        Returns those that were not held yet.
        """
        numbers = tuple(
            [one for one in list_ended_deliveries(entry) or list_batched_deliveries(entry) if one not in self._settling]
        )
        for number in numbers:
            self._settling.add(number)
            box = self._open.get(number)
            queued = box.close(number) if box is not None else None
            if queued is not None:
                self._held[number] = queued
        return numbers

    def release(self, numbers: tuple[int, ...]) -> None:
        """Make the deliveries available again, because the entry was not written."""
        for number in numbers:
            self._settling.discard(number)
            queued = self._held.pop(number, None)
            if queued is not None:
                self._open[number].reopen(queued)
                self.wake(queued.recipient)

    def apply(self, entry: Entry, seq: int, body: BodyAt | None, data: bytes | None) -> None:
        """Apply a durable entry to memory."""
        self.applied_seq = seq
        take_effect = self._effects.get(type(entry))
        if take_effect is not None:
            take_effect(entry, seq, body, data)

    def _apply_post(self, entry: MessagePosted, seq: int, body: BodyAt | None, data: bytes | None) -> None:
        if keys := entry.keys or unique_keys(entry):
            self.keys.remember(keys, seq)
            if entry.possible_duplicate and entry.handle:
                self.flagged.remember([key for key in keys if key >= FLAGGED_FROM], seq)
        content, first = posted_content(entry, body), delivery_number(seq, 0)
        for ordinal, copy in enumerate(entry.copies):
            if not copy.code:
                queued = Queued(
                    number=first + ordinal,
                    message_seq=seq,
                    message=entry,
                    copy=ordinal,
                    hop=0,
                    recipient=copy.hops[0].service,
                    content=content,
                    expires_at_us=entry.expires_at_us,
                )
                self._offer(queued, data)
        if entry.ends is not None:  # before ``answers``: a delivery that failed was not delivered
            self._close(entry.ends.delivery, FINAL[entry.ends.state])
        if entry.answers is not None:
            self._close(entry.answers.delivery, DeliveryState.DELIVERED)

    def _apply_return(self, entry: InvocationReturned, seq: int, body: BodyAt | None, data: bytes | None) -> None:
        self.keys.remember(unique_keys(entry), seq)
        found = self.find(entry.delivery)
        self._close(entry.delivery, DeliveryState.DELIVERED)
        if found is None:  # answered long after the hand-out: the next hop is read from the index
            self._spill(entry.next, seq)
            return
        queued = Queued(
            number=delivery_number(seq, 0),
            message_seq=entry.message,
            message=found.queued.message,
            copy=entry.copy,
            hop=entry.hop,
            recipient=entry.next,
            content=returned_content(entry, body),
            expires_at_us=entry.expires_at_us,
            round=entry.journey,
        )
        self._offer(queued, data)

    def _apply_resend(self, entry: DeliveryResent, seq: int, *_: object) -> None:
        self.keys.remember(unique_keys(entry), seq)
        found = self.find(entry.delivery)
        if found is None:  # it failed long ago: it is read from the index
            self._spill(entry.next, seq)
            return
        number = delivery_number(seq, 0)
        queued = Queued(
            number=number,
            message_seq=entry.message,
            message=found.queued.message,
            copy=entry.copy,
            hop=entry.hop,
            recipient=entry.next,
            content=found.queued.content,
            expires_at_us=entry.expires_at_us,
            round=number if entry.followed else 0,
            origin=entry.origin,
        )
        self._offer(queued, None)

    def _apply_acknowledgement(self, entry: DeliveriesAcknowledged, seq: int, *_: object) -> None:
        if entry.journeys or entry.batch is not None:
            self.keys.remember(unique_keys(entry), seq)
        for number in entry.deliveries:
            self._close(number, DeliveryState.DELIVERED)

    def _apply_end(self, entry: DeliveriesEnded, seq: int, *_: object) -> None:
        if entry.journeys or entry.batch is not None:
            self.keys.remember(unique_keys(entry), seq)
        for number in entry.deliveries:
            self._close(number, FINAL[entry.state])

    def _apply_batches(self, entry: BatchesChanged, seq: int, *_: object) -> None:
        """Remove deliveries that joined a batch from memory, since they are not handed out."""
        self.keys.remember(unique_keys(entry), seq)
        for number in entry.deliveries:
            self._take_out(number)

    def _apply_keys(
        self,
        entry: ConfigurationChanged | DeliveriesDropped | InterchangeAnswered | BillingJournalEntry | SecretChanged,
        seq: int,
        *_: object,
    ) -> None:
        self.keys.remember(unique_keys(entry), seq)

    def _apply_give_back(self, entry: DeliveriesReturned | DeliveryAttempted, *_: object) -> None:
        available_at = self._clock.monotonic() + entry.delay_s
        for number in entry.deliveries:
            if (box := self._open.get(number)) is None:
                self.index_must_know = self.applied_seq
            elif isinstance(entry, DeliveryAttempted) and entry.is_put_off:
                box.put_off(number, available_at)
            else:
                box.give_back(number, available_at)
        self.wake(entry.by)

    def _apply_release(self, entry: DeliveriesReleased, *_: object) -> None:
        self.wake(entry.service)

    def _spill(self, recipient: str, seq: int) -> None:
        """Leave the deliveries that this entry queues only in the index."""
        box = self.mailbox(recipient)
        box.spilled_to, box.queued = delivery_number(seq, 0), box.queued + 1
        self.wake(recipient)

    def _offer(self, queued: Queued, data: bytes | None) -> None:
        box = self.mailbox(queued.recipient)
        box.queued += 1
        if box.offer(queued):
            self._open[queued.number] = box
            if data is not None and self._warm_bytes < WARM_BYTES:
                queued.data = data
                self._warm_bytes += len(data)
        if self._arrivals.get(queued.recipient):
            self.wake(queued.recipient)

    def _close(self, number: int, state: DeliveryState) -> None:
        self._over[number] = None
        if len(self._over) > MAX_RECENT:
            self._over.popitem(last=False)
        queued = self._take_out(number)
        if queued is None:
            self.unseen_ends += 1
            return
        self._boxes[queued.recipient].queued -= 1
        self._recent[number] = FoundDelivery(queued, state)
        if len(self._recent) > MAX_RECENT:
            self._recent.popitem(last=False)

    def _take_out(self, number: int) -> Queued | None:
        if self._loads:
            self._closed_while_loading.add(number)
        self._settling.discard(number)
        box = self._open.pop(number, None)
        if box is None or number > box.loaded_to:
            self.index_must_know = self.applied_seq
        queued = self._held.pop(number, None) or (box.close(number) if box is not None else None)
        if queued is not None and queued.data is not None:
            self._warm_bytes -= len(queued.data)
            queued.data = None
        return queued
