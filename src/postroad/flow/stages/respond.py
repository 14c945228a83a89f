"""Responses: return a recipient's response to the requester, and pass on what an in-transit service returned.

Rules: only the service that received a delivery can answer it, once, with its token. A response is part of its
request's journey and expires with it.
"""

from __future__ import annotations

from postroad.core.admission.admit import Admitted
from postroad.core.delivery.reasons import make_reason, reason_text
from postroad.core.model import ids
from postroad.core.model.delivery import DeliveryState, FoundDelivery, Queued
from postroad.core.model.directory import Service
from postroad.core.model.message import MessageType, PostResult, Status
from postroad.core.model.snapshot import Directory
from postroad.core.projection.unique_keys import answer_key
from postroad.core.routing.budget import Budget
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.rules.return_route import ReturnRoute, return_route
from postroad.core.routing.search_keys import PostedSubject, collect_search_keys
from postroad.core.visibility.isolation import anonymous_service_label
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.redact_delivery import redact_refusal, redact_result
from postroad.errors import Refused
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages import entries
from postroad.flow.stages.acknowledge import acknowledge
from postroad.flow.stages.advance import AdvanceStage
from postroad.flow.stages.cancel import CancelStage
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.flow.stages.posting import (
    Posting,
    build_result,
    encode_body,
    is_same_post,
    load_post,
    replay_result,
)
from postroad.flow.stages.routed_post import RoutingMetrics
from postroad.ports import Conflict, JournalStep

NO_RETURN = "The response had no valid route back"
NO_WAY_BACK = (
    "The response has no valid route back to the requester; connect as securely as your and its policy require, or ask the "
    "owner of the requesting service"
)


class RespondStage:
    """Checks responses and acknowledgments against the deliveries of their tokens, and carries them out."""

    def __init__(
        self,
        plumbing: Plumbing,
        lookup: DeliveryLookup,
        pseudonyms: Pseudonyms,
        ending: EndStage,
        cancelling: CancelStage,
        heavy: HeavyWork,
    ) -> None:
        self._routing = RoutingMetrics(plumbing.metrics)
        self._desk, self._journal, self._randomness = plumbing.desk, plumbing.journal, plumbing.randomness
        self._lookup = lookup
        self._pseudonyms = pseudonyms
        self._ending = ending
        self._cancelling = cancelling
        self._heavy = heavy
        self._advancing = AdvanceStage(plumbing, ending, _answered, heavy)

    async def respond(self, admitted: Admitted, posting: Posting, directory: Directory) -> PostResult:
        """Carry out a response or an acknowledgment; raises Refused if it does not fit what was delivered."""
        message = admitted.message
        if message.type is MessageType.CANCEL:
            return await self._cancelling.cancel(admitted)
        found = await self._lookup.find(message.reference, admitted.sender.gcid)
        if message.type is MessageType.ACKNOWLEDGEMENT:
            return await self._acknowledge(admitted, found)
        if found.state not in (DeliveryState.QUEUED, DeliveryState.DELIVERED):
            raise Refused(
                "reference.invalid", f"The referenced delivery is {found.state.name.lower()} and cannot be answered"
            )
        queued = found.queued
        if queued.expires_at_us and queued.expires_at_us <= admitted.at_us:
            raise Refused("message.expired", "The message expired before this response")
        try:
            if (earlier := await self._earlier(found)) is not None:
                result = await self._again(earlier, posting)
            elif queued.in_transit:
                result = await self._advancing.advance(admitted, posting, queued, directory)
            else:
                result = await self._respond(admitted, posting, queued, directory)
        except Refused as refusal:
            raise redact_refusal(refusal, queued, self._pseudonyms) from None
        return redact_result(result, queued, self._pseudonyms)

    async def _earlier(self, found: FoundDelivery) -> Conflict | None:
        """Find an earlier answer to the delivery; only the index has old ones.

        A waiting delivery has none, because an answer would have settled it.
        """
        key = answer_key(found.queued.number)
        first = await self._desk.find_first_use(key) if found.state is DeliveryState.DELIVERED else None
        return Conflict(key, *first) if first is not None else None

    async def _again(self, earlier: Conflict, posting: Posting) -> PostResult:
        """Return the result of the earlier answer if it was the same post; raises Refused for any other."""
        first = await load_post(self._journal, earlier.seq)
        if first is None or not is_same_post(first, posting):
            raise _answered(earlier)
        return replay_result(first)

    async def _acknowledge(self, admitted: Admitted, found: FoundDelivery) -> PostResult:
        taken = [found.queued] if found.state is DeliveryState.QUEUED else []
        over = found.state not in (DeliveryState.QUEUED, DeliveryState.DELIVERED)
        if over or (taken and await acknowledge(self._desk, admitted.at_us, admitted.sender.gcid, taken)):
            raise Refused("delivery.over", "The delivery has already ended before this acknowledgement")
        message = found.queued.message
        result = PostResult(session=message.session, transaction=message.transaction)
        return redact_result(result, found.queued, self._pseudonyms)

    async def _respond(self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory) -> PostResult:
        request = queued.message
        if request.type is not MessageType.REQUEST:
            raise Refused(
                "reference.notification", f"A {request.type.value} expects no response; acknowledge it instead"
            )
        requester = directory.services.get(request.sender)
        if requester is None:
            raise Refused("recipient.unknown", "The requesting service no longer exists")
        way = await self._way_back(admitted, queued, requester, directory)
        self._routing.count_tried(way.tried)
        explanation = pack_tried(way.tried) if way.tried else b""
        keys = await self._heavy.route(
            admitted.sender.organization,
            lambda at_once: collect_search_keys(
                admitted.sender, (way.copy,), directory, PostedSubject(admitted, directory, posting.form, at_once)
            ),
        )
        entry = entries.build_response(
            admitted,
            posting,
            queued,
            way,
            session=ids.session(admitted.at_us, self._randomness.bytes(10)),
            directory_version=directory.version,
            explained=len(explanation),
            search_keys=keys,
        )
        body = encode_body(posting.message.parts, explanation, posting.wrapper)
        outcome = await commit_step(self._desk, JournalStep(entry, body, (answer_key(queued.number),)))
        return await self._again(outcome, posting) if isinstance(outcome, Conflict) else build_result(entry)

    async def _way_back(
        self, admitted: Admitted, queued: Queued, requester: Service, directory: Directory
    ) -> ReturnRoute:
        """Route the response; if the route is not valid, both the requester and the responder get an error."""
        try:
            return await self._heavy.route(
                admitted.sender.organization,
                lambda at_once: return_route(admitted, queued, requester, directory, Budget(at_once)),
            )
        except Refused as refusal:
            if not refusal.code.startswith("policy."):  # the response may still be sent over a safer connection
                why = make_reason("route.no-return", detail=refusal.detail)
                status = Status("route.failed", reason_text(why))
                told = Status("route.failed", NO_RETURN) if anonymous_service_label(queued, directory) else None
                await self._ending.end(queued.journey, queued.number, "failed", status, why=why, told=told)
            if queued.shown_sender:  # the refusal may name a party that is hidden from the poster
                raise Refused(refusal.code, NO_WAY_BACK) from None
            raise


def _answered(conflict: Conflict) -> Refused:
    detail = "This delivery has already been answered, or has expired"
    return Refused("reference.answered", detail, session=conflict.session)
