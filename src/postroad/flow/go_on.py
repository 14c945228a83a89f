"""Let a message go on after an in-transit service has answered: to the next service, past a failure, or to its end.

Kept rules: the changed message goes on in the step that settles the answered delivery; what the sender withheld is put back; the
rules of a service that routes dynamically are tried on the message as it is now, and validated before the next delivery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.audit.passing import unnamed
from postroad.core.delivery.documents import access_at, merged
from postroad.core.mediation.setting import without_parts
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import InvocationReturned, Returned
from postroad.core.model.message import Part, PostResult, RecipientResult, Status
from postroad.core.model.part_facts import total_size
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import answer_key
from postroad.core.routing.contexts import Ancestry, augmented
from postroad.core.routing.elaboration import Elaboration
from postroad.core.routing.explanation import pack
from postroad.core.routing.layout import Route
from postroad.core.routing.message_subject import travelling_subject
from postroad.core.routing.reaching import reach
from postroad.core.routing.shares import Budget
from postroad.errors import Refused
from postroad.flow.commit import committed
from postroad.flow.end import EndStage
from postroad.flow.heavy_work import HeavyWork
from postroad.flow.posting import Posting, body_of, part_facts, parts_of, setting_in
from postroad.ports import Conflict, Desk, Step

REJECTED = "rejected"  # the status code by which a filter says no
AlreadyAnswered = Callable[[Conflict], Refused]


class Onward(NamedTuple):
    """How the message leaves: its route from here, the place it goes to, its parts, and what there is to explain."""

    route: Route
    place: int
    parts: tuple[Part, ...]
    returned: tuple[Returned, ...]
    explanation: bytes


class GoOnStage:
    def __init__(self, desk: Desk, ending: EndStage, already_answered: AlreadyAnswered, heavy: HeavyWork) -> None:
        self._desk = desk
        self._ending = ending
        self._already_answered = already_answered
        self._heavy = heavy

    async def go_on(self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory) -> PostResult:
        """An in-transit service has answered: the message goes on, or its journey ends with the error."""
        status = admitted.message.status
        place = queued.hop + 1 if status is None else _after_error(queued, status)
        if place is not None:
            await self._move(admitted, posting, queued, place, directory)
        elif status is not None:
            await self._end(queued, _failure(admitted, status, queued, directory))
        recipient = RecipientResult(service=queued.message.copies[queued.copy].named)
        return PostResult(
            session=queued.message.session, transaction=queued.message.transaction, recipients=(recipient,)
        )

    async def _move(
        self, admitted: Admitted, posting: Posting, queued: Queued, place: int, directory: Directory
    ) -> None:
        parts = await self._parts(admitted, queued, directory)
        try:
            onward = await self._heavy.route(
                admitted.sender.organization,
                lambda at_once: _onward(admitted, queued, place, parts, directory, Budget(at_once)),
            )
        except Refused as refusal:  # what rules added on the way is not valid
            await self._end(queued, _misrouted(refusal, queued, directory))
            return
        key = answer_key(queued.number)
        setting = await self._setting(queued, parts)
        entry = replace(_entry(admitted, posting, queued, onward, key, directory), setting=len(setting))
        outcome = await committed(self._desk, Step(entry, body_of(parts, onward.explanation, setting), (key,)))
        if isinstance(outcome, Conflict):
            raise self._already_answered(outcome)

    async def _parts(self, admitted: Admitted, queued: Queued, directory: Directory) -> tuple[Part, ...]:
        """The message's parts after this answer; one without documents, or an error, leaves them as they were."""
        message = admitted.message
        access = access_at(queued, directory)
        if message.parts and message.status is None and not access:
            return message.parts
        body = await self._desk.body(queued)
        if body is None:
            raise Refused(
                "body.dropped", "The message's documents are no longer kept; answer with them, or with an error"
            )
        before = parts_of(queued.content.parts, body)
        return merged(before, message.parts, access) if message.parts and message.status is None else before

    async def _setting(self, queued: Queued, parts: tuple[Part, ...]) -> bytes:
        """How the message was wrapped when it came: for its receiver, if this service has left the parts as they were."""
        body = await self._desk.body(queued) if queued.content.setting else None
        if not body:
            return b""
        setting = setting_in(queued.content, body)
        return setting if parts_of(queued.content.parts, body) == parts else without_parts(setting)

    async def _end(self, queued: Queued, ended: Ended) -> None:
        if not await self._ending.end(queued.journey, queued.number, ended.state, ended.status, told=ended.told):
            raise self._already_answered(Conflict(answer_key(queued.number), 0, queued.message.session))


class Ended(NamedTuple):
    """How a journey ends and why; ``told`` is what its sender is told where the whole is not for it to know."""

    state: str
    status: Status
    told: Status | None = None


def _after_error(queued: Queued, status: Status) -> int | None:
    """Where the message goes on although this service has not done its work; None: it does not. A filter's no is final."""
    return None if status.code == REJECTED else Ancestry(queued.hops, queued.logical).after_error(queued.hop)


def _misrouted(refusal: Refused, queued: Queued, directory: Directory) -> Ended:
    someone = unnamed(queued, directory)
    told = Status(refusal.code, f"{someone} gave it no valid way on") if someone else None
    return Ended("failed", Status(refusal.code, refusal.detail), told)


def _failure(admitted: Admitted, status: Status, queued: Queued, directory: Directory) -> Ended:
    by, someone = admitted.sender.address, unnamed(queued, directory)
    if status.code == REJECTED:
        told = Status("route.rejected", f"{someone} did not let the message pass") if someone else None
        return Ended("rejected", Status("route.rejected", f"{by} did not let the message pass: {status.text}"), told)
    told = Status("route.failed", f"{someone} failed") if someone else None
    return Ended("failed", Status("route.failed", f"{by} answered {status.code} {status.text}".rstrip()), told)


def _onward(
    admitted: Admitted, queued: Queued, place: int, parts: tuple[Part, ...], directory: Directory, budget: Budget
) -> Onward:
    route = Route(queued.hops, queued.logical)
    ancestry = Ancestry(*route)
    returned = queued.content.returned
    if admitted.message.properties and admitted.message.status is None:
        concerned = ancestry.returned_to(queued.hop)
        returned += tuple([Returned(context, admitted.message.properties) for context in concerned])
    next_context = route.hops[place].context
    if next_context is None or not next_context.dynamic:
        return Onward(route, place, parts, returned, b"")
    sender = directory.services.get(queued.message.sender)
    if sender is None:
        raise Refused("route.invalid", "The message's sender does not exist any more")
    properties = augmented(queued.message.properties, ancestry.seen_at(place, returned))
    elaboration = Elaboration(
        directory, lambda: travelling_subject(queued, parts, properties, directory, budget), queued.message.routing
    )
    route = reach(route, place, elaboration, sender)
    tried = tuple(elaboration.tried)
    return Onward(route, place, parts, returned, pack(tried) if tried else b"")


def _entry(
    admitted: Admitted, posting: Posting, queued: Queued, onward: Onward, key: int, directory: Directory
) -> InvocationReturned:
    original = queued.message
    changed = onward.route != Route(original.copies[queued.copy].hops, original.copies[queued.copy].logical)
    parts = part_facts(onward.parts)
    return InvocationReturned(
        at_us=admitted.at_us,
        delivery=queued.number,
        session=original.session,
        transaction=original.transaction,
        by=admitted.sender.gcid,
        message=queued.message_seq,
        copy=queued.copy,
        hop=onward.place,
        next=onward.route.hops[onward.place].service,
        size=total_size(parts),
        wire_size=posting.size,
        expires_at_us=queued.expires_at_us,
        parts=parts,
        keys=(key,),
        journey=queued.journey,
        hops=onward.route.hops if changed else (),
        logical=onward.route.logical if changed else (),
        returned=onward.returned,
        status=admitted.message.status,
        explained=len(onward.explanation),
        directory=directory.version if onward.explanation else 0,
    )
