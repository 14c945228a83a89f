"""Forward a delivery: what an exchange or a model was sent goes on to all it is for, in its name and under the original header.

Kept rules: the delivery is settled only after everything that it became is durable. Every step has a key of its own, so a
delivery that comes again after an interruption is forwarded to nobody twice. Whoever has passed the message before is not given
it again: a circle of exchanges ends where it began. By however many ways a message comes to an exchange, it is handed on to
another one once, or exchanges that are bound to each other would multiply it. Nothing goes to another house that the exchange is
not open to any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from postroad.core.admission.admit import Admitted
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.exchange import Forwarded
from postroad.core.model.journal import Came, MessagePosted
from postroad.core.model.message import Delivered, Message, MessageType, Part
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import forward_key, relay_key
from postroad.core.routing.explanation import pack
from postroad.core.routing.forwarding import closed_to, forwarded_copies
from postroad.core.routing.forwards import NOT_OPEN, Forward, is_relayed, parted, told_apart
from postroad.flow.commit import stored, submitted
from postroad.flow.posting import body_of, part_facts, setting_in
from postroad.ports import Clock, Committed, Desk, Outcome, Randomness, Step

FORM = "hosted"  # of what a binding has made, which never was on a wire


def nothing() -> None:
    """For those who do not mind the order."""


class Onward(Struct, gc=False, frozen=True):
    """What became of forwards: how many copies went out, and what was wrong with those that did not, by what chose them."""

    copies: int = 0
    cut: int = 0  # not forwarded to who had it before
    faults: tuple[tuple[str, str], ...] = ()


class ForwardStage:
    def __init__(
        self,
        desk: Desk,
        directory: Callable[[], Directory],
        clock: Clock,
        randomness: Randomness,
        expires: Callable[[int], None],
    ) -> None:
        self._desk = desk
        self._directory = directory
        self._clock = clock
        self._randomness = randomness
        self._expires = expires

    async def forward(
        self,
        caller: Caller,
        delivered: Delivered,
        queued: Queued,
        forwards: Sequence[Forward],
        on_its_way: Callable[[], None] = nothing,
    ) -> Onward:
        """Make all forwards of one delivery durable; ``caller`` is the exchange or model that it was handed out to.

        ``on_its_way`` is called when whatever is forwarded later comes later for every receiver.
        """
        directory = self._directory()
        through = (*_passed(queued.message), queued.recipient)
        there = [one for one in forwards if one.receiver not in through and one.receiver in directory.services]
        closed = closed_to(queued.recipient, {one.receiver for one in there}, directory)
        wanted = [one for one in there if one.receiver not in closed]
        faults = tuple([(one.chosen_by, NOT_OPEN) for one in there if one.receiver in closed])
        onward = Onward(0, sum(one.receiver in through for one in forwards), faults)
        setting = await self._setting(delivered, queued)
        steps: list[tuple[Step, list[Forward], asyncio.Future[Outcome]]] = []
        for name, group in parted(wanted, directory).items():
            sent = _Sent(caller, delivered, queued, through, setting if group[0].part is None else b"")
            step = self._step(sent, name, group, directory)
            steps.append((step, group, submitted(self._desk, step)))
        on_its_way()
        for step, group, future in steps:
            is_new = await self._committed(step, future)
            if is_new or not is_relayed(group[0], directory):
                onward = _and(onward, step, group, is_new)
            else:
                onward = Onward(onward.copies, onward.cut + len(group), onward.faults)
        return onward

    async def _setting(self, delivered: Delivered, queued: Queued) -> bytes:
        """How the message was wrapped when it came, where all of it goes on."""
        if not queued.content.setting or len(delivered.parts) < len(queued.content.parts) or queued.shown_sender:
            return b""
        return setting_in(queued.content, await self._desk.body(queued) or b"")

    async def _committed(self, step: Step, future: asyncio.Future[Outcome]) -> bool:
        outcome = await stored(future)
        if isinstance(outcome, Committed) and isinstance(step.entry, MessagePosted):
            self._expires(step.entry.expires_at_us)
        return isinstance(outcome, Committed)

    def _step(self, sent: _Sent, name: str, group: Sequence[Forward], directory: Directory) -> Step:
        delivered, number, original = sent.delivered, sent.queued.number, sent.queued.message
        made = group[0].part
        parts = delivered.parts if made is None else (made, *delivered.parts[1:])
        form = original.form if made is None else FORM
        admitted = _admitted(sent, parts, self._clock.now_us())
        receivers = [directory.services[one.receiver] for one in group]
        copies, tried = forwarded_copies(admitted, delivered.sender_gcid, receivers, directory, form)
        explanation = pack(tried) if tried else b""
        session = ids.session(admitted.at_us, self._randomness.bytes(10))
        key = _key(sent, name, parts) if is_relayed(group[0], directory) else forward_key(number, name)
        entry = MessagePosted(
            at_us=admitted.at_us,
            session=session,
            transaction=session if sent.queued.shown_sender else original.transaction,
            sender=sent.queued.recipient,
            type=MessageType.NOTIFICATION,
            topic=delivered.topic,
            size=sum(len(part.data) for part in parts),
            form=form,
            expires_at_us=delivered.expires_at_us,
            directory=directory.version,
            parts=part_facts(parts),
            copies=copies,
            handle=delivered.handle,
            possible_duplicate=delivered.possible_duplicate,
            properties=delivered.properties,
            keys=(key,),
            explained=len(explanation),
            shown_sender=delivered.sender_gcid,
            came=Came(setting=len(sent.setting)) if sent.setting else None,
            forwarded=Forwarded(
                number, delivered.session, sent.through, tuple([one.chosen_by for one in group]), sent.origin
            ),
        )
        return Step(entry, body_of(parts, explanation, sent.setting), (key,))


class _Sent(Struct, gc=False, frozen=True):
    """What all forwards of one delivery have in common."""

    caller: Caller
    delivered: Delivered
    queued: Queued
    through: tuple[str, ...]
    setting: bytes

    @property
    def origin(self) -> str:
        """The session of what was posted."""
        before = self.queued.message.forwarded
        return self.queued.message.session if before is None else before.origin or before.session


def _key(sent: _Sent, name: str, parts: tuple[Part, ...]) -> int:
    """Of what goes to another exchange; the way by which it came is no part of it."""
    return relay_key(sent.origin, sent.queued.recipient, name, told_apart(sent.through, parts))


def _admitted(sent: _Sent, parts: tuple[Part, ...], now_us: int) -> Admitted:
    """The message as rules of receivers look at it."""
    exchange, delivered = sent.caller.service, sent.delivered
    if exchange is None:
        raise TypeError("messages are forwarded by a service")
    message = Message(
        type=MessageType.NOTIFICATION,
        topic=delivered.topic,
        handle=delivered.handle,
        properties=delivered.properties,
        parts=parts,
    )
    return Admitted(message, exchange, sent.caller, now_us, delivered.expires_at_us)


def _passed(message: MessagePosted) -> tuple[str, ...]:
    return message.forwarded.through if message.forwarded is not None else ()


def _and(onward: Onward, step: Step, group: Sequence[Forward], is_new: bool) -> Onward:
    copies = step.entry.copies if isinstance(step.entry, MessagePosted) else ()
    told = [
        (one.chosen_by, f"{copy.code}: {copy.detail}") for one, copy in zip(group, copies, strict=True) if copy.code
    ]
    return Onward(
        onward.copies + sum(not copy.code for copy in copies),
        onward.cut,
        (*onward.faults, *(told if is_new else ())),
    )
