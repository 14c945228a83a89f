"""Forward a delivery: what an exchange or a model was sent goes on to all it is for, in its name and under the original header.

Kept rules: the delivery is settled only after everything that it became is durable. Every step has a key of its own, so a
delivery that comes again after an interruption is forwarded to nobody twice. Whoever has passed the message before is not given
it again: a circle of exchanges ends where it began. By however many ways a message comes to an exchange, it is handed on to
another one once, or exchanges that are bound to each other would multiply it. Nothing goes to another house that the exchange is
not open to any more. What a splitter takes out of an interchange goes by keys of the delivery's first round, so that not even a
dead letter that is resent is taken apart twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Forwarded
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.part_facts import Came
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import forward_key
from postroad.core.routing.business_keys import Keys, PostedSubject, business_keys
from postroad.core.routing.explanation import pack
from postroad.core.routing.forwarding import closed_to, forwarded_copies
from postroad.core.routing.forwards import NOT_OPEN, RELAYS, Forward, is_relayed, parted
from postroad.core.routing.itinerary import Routed
from postroad.errors import Unavailable
from postroad.flow.commit import stored, submitted
from postroad.flow.going import Going, Sent, keys_of, passed_by
from postroad.flow.heavy_work import HeavyWork
from postroad.flow.posting import body_of, part_facts, setting_in
from postroad.ports import Clock, Committed, Conflict, Desk, Outcome, Randomness, Step

TOGETHER = 250  # entries on their way at a time: an interchange may have a million documents


def nothing() -> None:
    """For those who do not mind the order."""


class Onward(Struct, gc=False, frozen=True):
    """What became of forwards: how many copies went out, and what was wrong with those that did not, by what chose them."""

    copies: int = 0
    cut: int = 0  # not forwarded to who had it before
    faults: tuple[tuple[str, str], ...] = ()
    refused: tuple[str, ...] = ()  # what chose those that cannot be reached, be it that this was told before


class ForwardStage:
    def __init__(
        self,
        desk: Desk,
        directory: Callable[[], Directory],
        clock: Clock,
        randomness: Randomness,
        expires: Callable[[int], None],
        heavy: HeavyWork,
    ) -> None:
        self._desk = desk
        self._directory = directory
        self._clock = clock
        self._randomness = randomness
        self._expires = expires
        self._heavy = heavy

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
        through = (*passed_by(queued.message), queued.recipient)
        wanted, faults = _wanted(forwards, queued.recipient, through, directory)
        sent = Sent(caller, delivered, queued, through, await self._setting(delivered, queued))
        groups, tally = parted(wanted, directory), _Tally(faults)
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
        return Onward(tally.copies, tally.cut + _circling(forwards, wanted, through), *tally.told())

    async def tell(self, caller: Caller, delivered: Delivered, queued: Queued, interchange: Forward) -> Conflict | None:
        """Send what a splitter tells a partner; None when that is durable, now or since an earlier time.

        A conflict is one of its numbers, which somebody else has used meanwhile.
        """
        directory = self._directory()
        sent = Sent(caller, delivered, queued, (*passed_by(queued.message), queued.recipient), b"")
        step = await self._step(sent, f"={interchange.chosen_by}", [interchange], directory)
        outcome = await stored(await self._earlier(sent, step) or submitted(self._desk, step))
        if isinstance(outcome, Conflict):
            return outcome if outcome.key != step.keys[0] else None
        self._note_expiry(step)
        return None

    async def came_before(self, queued: Queued, forward: Forward) -> bool:
        """Whether another delivery has used the key of this forward."""
        if not forward.once or await self._desk.seen(forward.once) is None:
            return False
        return await self._desk.seen(forward_key(queued.origin or queued.number, f"={forward.chosen_by}")) is None

    async def _submitted(
        self, sent: Sent, name: str, group: Sequence[Forward], directory: Directory
    ) -> tuple[Step, Sequence[Forward], asyncio.Future[Outcome]]:
        step = await self._step(sent, name, group, directory)
        return step, group, await self._earlier(sent, step) or submitted(self._desk, step)

    async def _earlier(self, sent: Sent, step: Step) -> asyncio.Future[Outcome] | None:
        """The outcome for what went on an earlier time: how long ago that was, and how much has gone on since, nobody knows,
        so that the desk may not have it in memory any more when it commits. Only what comes again can have been forwarded."""
        comes_again = sent.queued.attempt > 1 or sent.queued.origin
        first = await self._desk.seen(step.keys[0]) if comes_again else None
        if first is None:
            return None
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        outcome.set_result(Conflict(step.keys[0], *first))
        return outcome

    async def _setting(self, delivered: Delivered, queued: Queued) -> bytes:
        """How the message was wrapped when it came, where all of it goes on."""
        if not queued.content.setting or len(delivered.parts) < len(queued.content.parts) or queued.shown_sender:
            return b""
        return setting_in(queued.content, await self._desk.body(queued) or b"")

    async def _committed(self, step: Step, forward: Forward, future: asyncio.Future[Outcome]) -> bool:
        outcome = await stored(future)
        if isinstance(outcome, Committed):
            self._note_expiry(step)
        elif forward.once and outcome.key == forward.once:
            raise Unavailable(
                "network.unavailable", "The same interchange came twice at the same time; it is looked at again"
            )
        return isinstance(outcome, Committed)

    def _note_expiry(self, step: Step) -> None:
        if isinstance(step.entry, MessagePosted):
            self._expires(step.entry.expires_at_us)

    async def _step(self, sent: Sent, name: str, group: Sequence[Forward], directory: Directory) -> Step:
        first, original = group[0], sent.queued.message
        goes = Going(sent, first, self._clock.now_us())
        receivers = [directory.services[one.receiver] for one in group]
        (copies, tried), found_by = await self._heavy.route(
            goes.admitted.sender.organization, lambda at_once: _routed(goes, receivers, directory, at_once)
        )
        explanation = pack(tried) if tried else b""
        session = ids.session(goes.admitted.at_us, self._randomness.bytes(10))
        keys = keys_of(sent, name, goes.parts, first, directory)
        entry = MessagePosted(
            at_us=goes.admitted.at_us,
            session=session,
            transaction=session if sent.queued.shown_sender else original.transaction,
            sender=sent.queued.recipient,
            type=MessageType.NOTIFICATION,
            topic=goes.admitted.message.topic,
            size=sum(len(part.data) for part in goes.parts),
            wire_size=0,
            form=goes.form,
            expires_at_us=goes.admitted.expires_at_us,
            directory=directory.version,
            parts=part_facts(goes.parts),
            copies=copies,
            handle=goes.admitted.message.handle,
            possible_duplicate=sent.delivered.possible_duplicate,
            properties=goes.admitted.message.properties,
            keys=keys,
            explained=len(explanation),
            shown_sender=goes.written_by,
            came=Came(setting=len(goes.setting)) if goes.setting else None,
            forwarded=Forwarded(
                sent.queued.number,
                sent.delivered.session,
                sent.through,
                tuple([one.chosen_by for one in group]),
                session if first.alone else sent.origin,
            ),
            assembled=first.assembled,
            found_by=found_by,
        )
        return Step(entry, body_of(goes.parts, explanation, goes.setting), keys)


def _routed(
    goes: Going, receivers: Sequence[Service], directory: Directory, at_once: int | None
) -> tuple[Routed, Keys]:
    subject = PostedSubject(goes.admitted, directory, goes.form, at_once)
    routed = forwarded_copies(goes.admitted, goes.written_by, receivers, directory, goes.form, subject)
    return routed, business_keys(goes.admitted.sender, routed.copies, directory, subject)


class _Tally:
    """What has become of forwards so far; there may be a million."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        self.copies = self.cut = self.under_way = 0
        self._faults = faults
        self._refused: list[str] = []

    def add(self, step: Step, group: Sequence[Forward], is_new: bool, relayed: bool) -> None:
        if relayed and not is_new and not group[0].alone:
            self.cut += len(group)  # it came there by another way
            return
        copies = step.entry.copies if isinstance(step.entry, MessagePosted) else ()
        for one, copy in zip(group, copies, strict=True):
            if not copy.code:
                self.copies += 1
                continue
            self._refused.append(one.chosen_by)
            if is_new:
                self._faults.append((one.chosen_by, f"{copy.code}: {copy.detail}"))

    def told(self) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
        return tuple(self._faults), tuple(self._refused)


def _wanted(
    forwards: Sequence[Forward], host: str, through: Sequence[str], directory: Directory
) -> tuple[list[Forward], list[tuple[str, str]]]:
    """Those that can be carried out, and what is wrong with the others.

    A splitter was asked by its owner, who named the receiver, which was looked at like any recipient. What it takes apart may
    go back to the exchange that it came through.
    """
    if directory.services[host].hosted not in RELAYS:
        return list(forwards), []
    there = [one for one in forwards if one.receiver not in through and one.receiver in directory.services]
    closed = closed_to(host, {one.receiver for one in there}, directory)
    faults = [(one.chosen_by, NOT_OPEN) for one in there if one.receiver in closed]
    return [one for one in there if one.receiver not in closed], faults


def _circling(forwards: Sequence[Forward], wanted: Sequence[Forward], through: Sequence[str]) -> int:
    """How many would have come back to who had it before."""
    return 0 if len(wanted) == len(forwards) else sum(one.receiver in through for one in forwards)


def _some_at_a_time(groups: list[tuple[str, list[Forward]]]) -> Iterator[list[tuple[str, list[Forward]]]]:
    """What may be on its way together; one that may turn out to have come before goes first, and alone."""
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
