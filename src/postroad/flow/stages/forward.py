"""Forward a delivery from an exchange, model or splitter to its receivers, under the original header.

Rules: the delivery is settled only after all its forwards are durable. Every step has its own key, so a delivery that
is offered again after an interruption is forwarded to no one twice. A service that has passed the message before does
not receive it again: a loop of exchanges ends where it began. A message that reaches an exchange by several paths is
forwarded to another exchange once; otherwise exchanges that are bound to each other would multiply it. Nothing is
forwarded to an organization that the exchange is no longer open to. The keys of a splitter's documents come from the
delivery's first round, so that not even a resent dead letter is split twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from postroad.core.admission.admit import Admitted
from postroad.core.delivery.reasons import make_reason
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.directory import Service
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Delivered, Message, MessageType, Part
from postroad.core.model.reason import Reason
from postroad.core.model.snapshot import Directory
from postroad.core.projection.unique_keys import assembled_keys, forward_key, relay_key
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.forward import (
    NOT_OPEN,
    RELAYS,
    Forward,
    content_name,
    find_closed_receivers,
    forwarded_copies,
    is_relayed,
    split_forwards,
    with_content,
)
from postroad.core.routing.itinerary import Routed
from postroad.core.routing.search_keys import Keys, PostedSubject, collect_search_keys
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.commit import submit_step, wait_until_stored
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages import entries
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.flow.stages.posting import decode_wrapper, encode_body
from postroad.flow.stages.routed_post import RoutingMetrics
from postroad.ports import Committed, Conflict, JournalStep, StepOutcome

TOGETHER = 250  # entries submitted at a time: an interchange may have a million documents


def do_nothing() -> None:
    """Do nothing; the default where the order of forwards does not matter."""


class ForwardResult(Struct, gc=False, frozen=True):
    """The result of forwards: how many copies were sent, and errors by what chose the receiver."""

    copies: int = 0
    cut: int = 0  # number not forwarded, because the receiver had the message before
    faults: tuple[tuple[str, Reason], ...] = ()
    refused: tuple[str, ...] = ()  # the bindings of unreachable recipients, even if reported before


class ForwardStage:
    """Makes forwards durable, each at most once."""

    def __init__(self, plumbing: Plumbing, lookup: DeliveryLookup, due: DueTimes, heavy: HeavyWork) -> None:
        self._routing = RoutingMetrics(plumbing.metrics)
        self._desk, self._clock = plumbing.desk, plumbing.clock
        self._directory, self._randomness = plumbing.directory, plumbing.randomness
        self._lookup = lookup
        self._due = due
        self._heavy = heavy

    async def forward(
        self,
        caller: Caller,
        delivered: Delivered,
        forwards: Sequence[Forward],
        on_its_way: Callable[[], None] = do_nothing,
    ) -> ForwardResult:
        """Store all forwards of one delivery; ``caller`` is the exchange or model that received it.

        ``on_its_way`` is called when every later forward will also arrive later at every receiver. Raises Refused if the
        delivery has ended meanwhile.
        """
        found = await self._lookup.find(delivered.token, delivered.recipient_gcid)
        if found.state is not DeliveryState.QUEUED:
            raise Refused("delivery.over", "The delivery has already ended before it was forwarded")
        queued, directory = found.queued, self._directory()
        through = (*list_passed_services(queued.message), queued.recipient)
        wanted, faults = _wanted(forwards, queued.recipient, through, directory)
        sent = ForwardOrigin(caller, delivered, queued, through, await self._wrapper(delivered, queued))
        groups, tally = split_forwards(wanted, directory), _Tally(faults)
        for some in _some_at_a_time(list(groups.items())):
            steps = [await self._submitted(sent, name, group, directory) for name, group in some]
            tally.under_way += len(some)
            if tally.under_way == len(groups):
                on_its_way()
            for step, group, future in steps:
                is_new = await self._committed(step, group[0], future)
                tally.add(step, group, is_new, is_relayed(group[0], directory))
        if not groups:
            on_its_way()
        return ForwardResult(tally.copies, tally.cut + _circling(forwards, wanted, through), *tally.refusals())

    async def send_acknowledgment(
        self, caller: Caller, delivered: Delivered, queued: Queued, interchange: Forward
    ) -> Conflict | None:
        """Send a splitter's acknowledgment to a partner; None once it is durable, now or earlier.

        A conflict means that another writer used one of its numbers meanwhile.
        """
        directory = self._directory()
        sent = ForwardOrigin(caller, delivered, queued, (*list_passed_services(queued.message), queued.recipient), b"")
        step = await self._step(sent, f"={interchange.chosen_by}", [interchange], directory)
        outcome = await wait_until_stored(await self._earlier(sent, step) or submit_step(self._desk, step))
        if isinstance(outcome, Conflict):
            return outcome if outcome.key != step.keys[0] else None
        self._note_expiry(step)
        return None

    async def came_before(self, queued: Queued, forward: Forward) -> bool:
        """Return whether another delivery has used the key of this forward."""
        if not forward.once or await self._desk.find_first_use(forward.once) is None:
            return False
        return (
            await self._desk.find_first_use(forward_key(queued.origin or queued.number, f"={forward.chosen_by}"))
            is None
        )

    async def _submitted(
        self, sent: ForwardOrigin, name: str, group: Sequence[Forward], directory: Directory
    ) -> tuple[JournalStep, Sequence[Forward], asyncio.Future[StepOutcome]]:
        step = await self._step(sent, name, group, directory)
        return step, group, await self._earlier(sent, step) or submit_step(self._desk, step)

    async def _earlier(self, sent: ForwardOrigin, step: JournalStep) -> asyncio.Future[StepOutcome] | None:
        """Return the outcome of forwards from an interrupted earlier run, found by its key.

        The desk may no longer have them in memory, since neither their age nor the number of later entries is known.
        Only a delivery that is offered again can have been forwarded before.
        """
        comes_again = sent.queued.attempt > 1 or sent.queued.origin
        first = await self._desk.find_first_use(step.keys[0]) if comes_again else None
        if first is None:
            return None
        outcome: asyncio.Future[StepOutcome] = asyncio.get_running_loop().create_future()
        outcome.set_result(Conflict(step.keys[0], *first))
        return outcome

    async def _wrapper(self, delivered: Delivered, queued: Queued) -> bytes:
        """Return the wrapper of the original message, if the whole message is forwarded."""
        if not queued.content.wrapper_bytes or len(delivered.parts) < len(queued.content.parts) or queued.shown_sender:
            return b""
        return decode_wrapper(queued.content, await self._desk.body(queued) or b"")

    async def _committed(self, step: JournalStep, forward: Forward, future: asyncio.Future[StepOutcome]) -> bool:
        outcome = await wait_until_stored(future)
        if isinstance(outcome, Committed):
            self._note_expiry(step)
        elif forward.once and outcome.key == forward.once:
            raise Unavailable(
                "network.unavailable", "The same interchange arrived twice at the same time; it is checked again"
            )
        return isinstance(outcome, Committed)

    def _note_expiry(self, step: JournalStep) -> None:
        if isinstance(step.entry, MessagePosted):
            self._due.note(step.entry.expires_at_us)

    async def _step(
        self, sent: ForwardOrigin, name: str, group: Sequence[Forward], directory: Directory
    ) -> JournalStep:
        first = group[0]
        goes = ForwardedMessage(sent, first, self._clock.now_us())
        receivers = [directory.services[one.receiver] for one in group]
        (copies, tried), search_keys = await self._heavy.route(
            goes.admitted.sender.organization, lambda at_once: _routed(goes, receivers, directory, at_once)
        )
        self._routing.count_tried(tried)
        explanation = pack_tried(tried) if tried else b""
        session = ids.session(goes.admitted.at_us, self._randomness.bytes(10))
        keys = derive_forward_keys(sent, name, goes.parts, first, directory)
        entry = entries.build_forward(
            sent,
            goes,
            group,
            session=session,
            directory_version=directory.version,
            copies=copies,
            explained=len(explanation),
            keys=keys,
            search_keys=search_keys,
        )
        return JournalStep(entry, encode_body(goes.parts, explanation, goes.wrapper), keys)


def _routed(
    goes: ForwardedMessage, receivers: Sequence[Service], directory: Directory, at_once: int | None
) -> tuple[Routed, Keys]:
    subject = PostedSubject(goes.admitted, directory, goes.form, at_once)
    routed = forwarded_copies(goes.admitted, goes.written_by, receivers, directory, goes.form, subject)
    return routed, collect_search_keys(goes.admitted.sender, routed.copies, directory, subject)


class _Tally:
    """Counts the results of forwards; there may be a million."""

    def __init__(self, faults: list[tuple[str, Reason]]) -> None:
        self.copies = self.cut = self.under_way = 0
        self._faults = faults
        self._refused: list[str] = []

    def add(self, step: JournalStep, group: Sequence[Forward], is_new: bool, relayed: bool) -> None:
        if relayed and not is_new and not group[0].alone:
            self.cut += len(group)  # the message reached this receiver by another path
            return
        copies = step.entry.copies if isinstance(step.entry, MessagePosted) else ()
        for one, copy in zip(group, copies, strict=True):
            if not copy.code:
                self.copies += 1
                continue
            self._refused.append(one.chosen_by)
            if is_new:
                self._faults.append((one.chosen_by, make_reason(copy.code, detail=copy.detail)))

    def refusals(self) -> tuple[tuple[tuple[str, Reason], ...], tuple[str, ...]]:
        return tuple(self._faults), tuple(self._refused)


def _wanted(
    forwards: Sequence[Forward], host: str, through: Sequence[str], directory: Directory
) -> tuple[list[Forward], list[tuple[str, Reason]]]:
    """Return the forwards that can be carried out, and the errors of the others.

    A splitter names its receivers itself; they are checked like any recipient. Its documents may go back to the
    exchange that the interchange came through.
    """
    if directory.services[host].hosted not in RELAYS:
        return list(forwards), []
    there = [one for one in forwards if one.receiver not in through and one.receiver in directory.services]
    closed = find_closed_receivers(host, {one.receiver for one in there}, directory)
    faults = [(one.chosen_by, NOT_OPEN) for one in there if one.receiver in closed]
    return [one for one in there if one.receiver not in closed], faults


def _circling(forwards: Sequence[Forward], wanted: Sequence[Forward], through: Sequence[str]) -> int:
    """Return how many forwards would return to a service that the message has passed."""
    return 0 if len(wanted) == len(forwards) else sum(one.receiver in through for one in forwards)


def _some_at_a_time(groups: list[tuple[str, list[Forward]]]) -> Iterator[list[tuple[str, list[Forward]]]]:
    """Yield groups of forwards to submit together; one that may be a repetition goes first and alone."""
    some: list[tuple[str, list[Forward]]] = []
    for one in groups:
        if some and (len(some) >= TOGETHER or one[1][0].once):
            yield some
            some = []
        some.append(one)
        if one[1][0].once:
            yield some
            some = []
    if some:
        yield some


FORM = "hosted"  # of a binding's result, which never was on a wire


class ForwardOrigin(Struct, gc=False, frozen=True):
    """What all forwards of one delivery share."""

    caller: Caller
    delivered: Delivered
    queued: Queued
    through: tuple[str, ...]
    wrapper: bytes

    @property
    def origin(self) -> str:
        """Return the session of the original post."""
        before = self.queued.message.forwarded
        return self.queued.message.session if before is None else before.origin or before.session


class ForwardedMessage:
    """One forwarded message: header, parts and expiry."""

    def __init__(self, sent: ForwardOrigin, forward: Forward, now_us: int) -> None:
        exchange, delivered, made = sent.caller.service, sent.delivered, forward.part
        if exchange is None:
            raise TypeError("messages are forwarded by a service")
        came = () if forward.alone else delivered.parts
        self.parts: tuple[Part, ...] = delivered.parts if made is None else with_content(came, made)
        self.wrapper = sent.wrapper if made is None else b""
        self.form = sent.queued.message.form if made is None else FORM
        self.written_by = "" if forward.assembled is not None else delivered.sender_gcid
        lasts_us = exchange.default_expiration_s * 1_000_000
        message = Message(
            type=MessageType.NOTIFICATION,
            topic=delivered.topic if forward.topic is None else forward.topic,
            handle="" if forward.alone else delivered.handle,
            properties=delivered.properties if forward.properties is None else forward.properties,
            parts=self.parts,
        )
        expires_at_us = delivered.expires_at_us if forward.assembled is None else now_us + lasts_us
        self.admitted = Admitted(message, exchange, sent.caller, now_us, expires_at_us)


def derive_forward_keys(
    sent: ForwardOrigin, name: str, parts: tuple[Part, ...], forward: Forward, directory: Directory
) -> tuple[int, ...]:
    """Return the keys that prevent forwarding the message twice; the first is the forward's own."""
    if forward.alone:
        own = forward_key(sent.queued.origin or sent.queued.number, name)
    elif is_relayed(forward, directory):  # the path of the message is not part of this key
        own = relay_key(sent.origin, sent.queued.recipient, name, content_name(sent.through, parts))
    else:
        own = forward_key(sent.queued.number, name)
    numbers = () if forward.assembled is None else assembled_keys(forward.assembled)
    return (own, *((forward.once,) if forward.once else ()), *numbers)


def list_passed_services(message: MessagePosted) -> tuple[str, ...]:
    return message.forwarded.through if message.forwarded is not None else ()
