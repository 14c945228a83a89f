"""Advance a message after an in-transit service has answered: to the next service, past a failure, or to its end.

Rules: the changed message continues in the step that settles the answered delivery. Parts that the sender withheld
are restored. The rules of a dynamically routing service are applied to the message as it is now; its choice is
validated before the next delivery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.delivery.document_access import access_at, merge_parts
from postroad.core.delivery.reasons import make_reason, reason_text
from postroad.core.mediation.wrapper import strip_parts
from postroad.core.model.contexts import Ancestry, merge_properties
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import ReturnedContext
from postroad.core.model.message import Part, PostResult, RecipientResult, Status
from postroad.core.model.reason import Reason
from postroad.core.model.snapshot import Directory
from postroad.core.projection.unique_keys import answer_key
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.message_subject import travelling_subject
from postroad.core.routing.explain.explanation import ServiceTried, pack_tried
from postroad.core.routing.layout import Route
from postroad.core.routing.rules.dynamic_routing import apply_dynamic_rules
from postroad.core.routing.rules.evaluation import RuleEvaluation
from postroad.core.visibility.isolation import anonymous_service_label
from postroad.errors import Refused
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.entries import build_return
from postroad.flow.stages.posting import Posting, decode_parts, decode_wrapper, encode_body
from postroad.flow.stages.routed_post import RoutingMetrics
from postroad.ports import Conflict, JournalStep

REJECTED = "rejected"  # the status code with which a filter rejects a message
AlreadyAnswered = Callable[[Conflict], Refused]


class NextHop(NamedTuple):
    """The next hop of a message: its route from here, the position in it, its parts, and the explanation."""

    route: Route
    place: int
    parts: tuple[Part, ...]
    returned: tuple[ReturnedContext, ...]
    explanation: bytes
    tried: tuple[ServiceTried, ...] = ()


class AdvanceStage:
    """Moves messages on from in-transit services."""

    def __init__(
        self, plumbing: Plumbing, ending: EndStage, already_answered: AlreadyAnswered, heavy: HeavyWork
    ) -> None:
        self._routing = RoutingMetrics(plumbing.metrics)
        self._desk = plumbing.desk
        self._ending = ending
        self._already_answered = already_answered
        self._heavy = heavy

    async def advance(self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory) -> PostResult:
        """Process an in-transit service's answer: advance the message, or end its journey with the error."""
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
        except Refused as refusal:  # the services added by dynamic rules are not valid
            await self._end(queued, _misrouted(refusal, queued, directory))
            return
        self._routing.count_tried(onward.tried)
        key = answer_key(queued.number)
        wrapper = await self._wrapper(queued, parts)
        entry = build_return(
            admitted,
            posting,
            queued,
            onward=onward,
            key=key,
            directory_version=directory.version,
            wrapper_bytes=len(wrapper),
        )
        outcome = await commit_step(
            self._desk, JournalStep(entry, encode_body(parts, onward.explanation, wrapper), (key,))
        )
        if isinstance(outcome, Conflict):
            raise self._already_answered(outcome)

    async def _parts(self, admitted: Admitted, queued: Queued, directory: Directory) -> tuple[Part, ...]:
        """Return the message's parts after this answer; an error or an empty answer leaves them unchanged."""
        message = admitted.message
        access = access_at(queued, directory)
        if message.parts and message.status is None and not access:
            return message.parts
        body = await self._desk.body(queued)
        if body is None:
            raise Refused(
                "body.dropped",
                "The message's documents are no longer stored; include them in the response, or return an error",
            )
        before = decode_parts(queued.content.parts, body)
        return merge_parts(before, message.parts, access) if message.parts and message.status is None else before

    async def _wrapper(self, queued: Queued, parts: tuple[Part, ...]) -> bytes:
        """Return the message's wrapper for its receiver, if this service left the parts unchanged."""
        body = await self._desk.body(queued) if queued.content.wrapper_bytes else None
        if not body:
            return b""
        wrapper = decode_wrapper(queued.content, body)
        return wrapper if decode_parts(queued.content.parts, body) == parts else strip_parts(wrapper)

    async def _end(self, queued: Queued, ended: JourneyEnd) -> None:
        if not await self._ending.end(
            queued.journey, queued.number, ended.state, ended.status, why=ended.why, told=ended.told
        ):
            raise self._already_answered(Conflict(answer_key(queued.number), 0, queued.message.session))


class JourneyEnd(NamedTuple):
    """The end of a journey and its reason; ``told`` is the status for a sender that may not see the full reason."""

    state: str
    status: Status
    told: Status | None = None
    why: Reason | None = None  # if the status code does not contain it


def _after_error(queued: Queued, status: Status) -> int | None:
    """Return the next position in the route despite a failed service; None to stop. A filter's rejection is final."""
    return None if status.code == REJECTED else Ancestry(queued.hops, queued.logical).after_error(queued.hop)


def _misrouted(refusal: Refused, queued: Queued, directory: Directory) -> JourneyEnd:
    someone = anonymous_service_label(queued, directory)
    told = Status(refusal.code, f"{someone} left no valid route forward") if someone else None
    return JourneyEnd("failed", Status(refusal.code, refusal.detail), told)


def _failure(admitted: Admitted, status: Status, queued: Queued, directory: Directory) -> JourneyEnd:
    by, someone = admitted.sender.address, anonymous_service_label(queued, directory)
    if status.code == REJECTED:
        told = Status("route.rejected", f"Rejected by {someone}") if someone else None
        return JourneyEnd("rejected", Status("route.rejected", f"Rejected by {by}: {status.text}"), told)
    told = Status("route.failed", f"{someone} failed") if someone else None
    why = make_reason("service.error", by=by, status=status.code, detail=status.text)
    return JourneyEnd("failed", Status("route.failed", reason_text(why)), told, why)


def _onward(
    admitted: Admitted, queued: Queued, place: int, parts: tuple[Part, ...], directory: Directory, budget: Budget
) -> NextHop:
    route = Route(queued.hops, queued.logical)
    ancestry = Ancestry(*route)
    returned = queued.content.returned
    if admitted.message.properties and admitted.message.status is None:
        concerned = ancestry.returned_to(queued.hop)
        returned += tuple([ReturnedContext(context, admitted.message.properties) for context in concerned])
    next_context = route.hops[place].context
    if next_context is None or not next_context.dynamic:
        return NextHop(route, place, parts, returned, b"")
    sender = directory.services.get(queued.message.sender)
    if sender is None:
        raise Refused("route.invalid", "The message's sender no longer exists")
    properties = merge_properties(queued.message.properties, ancestry.seen_at(place, returned))
    elaboration = RuleEvaluation(
        directory, lambda: travelling_subject(queued, parts, properties, directory, budget), queued.message.routing
    )
    route = apply_dynamic_rules(route, place, elaboration, sender)
    tried = tuple(elaboration.tried)
    return NextHop(route, place, parts, returned, pack_tried(tried) if tried else b"", tried)
