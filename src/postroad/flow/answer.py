"""Answers: a recipient's response goes back to the requester, an in-transit service's answer goes on to the next stop.

Kept rules: only the service that was handed a delivery can answer it, once, with the token it was given; a response is part of
its request's journey and expires with it.
"""

from __future__ import annotations

from collections.abc import Collection
from hmac import compare_digest

from postroad.core.admission.admit import Admitted
from postroad.core.audit.passing import unnamed
from postroad.core.identity.tokens import Tokens
from postroad.core.model import ids
from postroad.core.model.delivery import Found, Queued, State
from postroad.core.model.directory import Service
from postroad.core.model.journal import Answers, MessagePosted
from postroad.core.model.message import MessageType, PostResult, Status
from postroad.core.model.part_facts import total_size
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import answer_key, post_keys
from postroad.core.routing.business_keys import Keys, PostedSubject, business_keys
from postroad.core.routing.explanation import pack
from postroad.core.routing.returning import ReturnRoute, return_route
from postroad.core.routing.shares import Budget
from postroad.errors import Refused
from postroad.flow.cancel import CancelStage
from postroad.flow.commit import committed
from postroad.flow.context import refused_to, told_of
from postroad.flow.end import EndStage
from postroad.flow.go_on import GoOnStage
from postroad.flow.heavy_work import HeavyWork
from postroad.flow.posting import Posting, body_of, is_same_post, part_facts, posted_at, replayed, result_of
from postroad.flow.settle import acknowledge
from postroad.ports import Conflict, Desk, Journal, Randomness, Step

NO_RETURN = "The response had no valid way back"
NO_WAY_BACK = (
    "The response has no valid way back to the service that asked; connect as safely as your own policy and theirs ask, or "
    "ask the owner of the service that the request came from"
)


class AnswerStage:
    def __init__(
        self,
        desk: Desk,
        journal: Journal,
        randomness: Randomness,
        tokens: Tokens,
        ending: EndStage,
        cancelling: CancelStage,
        heavy: HeavyWork,
    ) -> None:
        self._desk = desk
        self._journal = journal
        self._randomness = randomness
        self._tokens = tokens
        self._ending = ending
        self._cancelling = cancelling
        self._heavy = heavy
        self._going_on = GoOnStage(desk, ending, _answered, heavy)

    async def answer(self, admitted: Admitted, posting: Posting, directory: Directory) -> PostResult:
        """Carry out a response or an acknowledgement; raises Refused when it does not fit what was delivered."""
        message = admitted.message
        if message.type is MessageType.CANCEL:
            return await self._cancelling.cancel(admitted)
        found = await self.delivery(message.reference, admitted.sender.gcid)
        if message.type is MessageType.ACKNOWLEDGEMENT:
            return await self._acknowledge(admitted, found)
        if found.state not in (State.QUEUED, State.DELIVERED):
            raise Refused(
                "reference.invalid", f"The referenced delivery is {found.state.name.lower()}; it takes no answer"
            )
        queued = found.queued
        if queued.expires_at_us and queued.expires_at_us <= admitted.at_us:
            raise Refused("message.expired", "The message expired before this answer; nobody waits for it any more")
        try:
            if (earlier := await self._earlier(found)) is not None:
                result = await self._again(earlier, posting)
            elif queued.in_transit:
                result = await self._going_on.go_on(admitted, posting, queued, directory)
            else:
                result = await self._respond(admitted, posting, queued, directory)
        except Refused as refusal:
            raise refused_to(refusal, queued, self._tokens.veil) from None
        return told_of(result, queued, self._tokens.veil)

    async def delivery(self, token: str, receiver: str) -> Found:
        """The delivery that this receiver was given this token for."""
        found = (await self.deliveries((token,), receiver)).get(token)
        if found is None:
            raise Refused(
                "reference.invalid",
                "The reference is not the token of a message that this service received; use the token it came with",
                pointer="/reference",
            )
        return found

    async def deliveries(self, tokens: Collection[str], receiver: str) -> dict[str, Found]:
        """The deliveries that this receiver was given these tokens for; tokens of nothing, or of others', are left out."""
        numbers = {token: number for token in tokens if (number := self._tokens.number(token)) is not None}
        found = await self._desk.find_all(numbers.values())
        return {
            token: one
            for token, number in numbers.items()
            if (one := found.get(number)) is not None
            and one.queued.recipient == receiver
            and self._holds(token, one.queued)
        }

    def _holds(self, token: str, queued: Queued) -> bool:
        if queued.token:  # worked out when it was handed out
            return compare_digest(token.encode(), queued.token.encode())
        session, hidden = queued.message.session, bool(queued.shown_sender)
        return self._tokens.holds(token, queued.number, session, queued.recipient, hidden=hidden)

    async def _earlier(self, found: Found) -> Conflict | None:
        """The answer that came before this one: an old one is known to the index alone, and not when the desk commits.

        What still waits has none, because an answer would have settled it.
        """
        key = answer_key(found.queued.number)
        first = await self._desk.seen(key) if found.state is State.DELIVERED else None
        return Conflict(key, *first) if first is not None else None

    async def _again(self, earlier: Conflict, posting: Posting) -> PostResult:
        """The result of the earlier answer if it was this very post; anything else comes too late."""
        first = await posted_at(self._journal, earlier.seq)
        if first is None or not is_same_post(first, posting):
            raise _answered(earlier)
        return replayed(first)

    async def _acknowledge(self, admitted: Admitted, found: Found) -> PostResult:
        taken = [found.queued] if found.state is State.QUEUED else []
        over = found.state not in (State.QUEUED, State.DELIVERED)
        if over or (taken and await acknowledge(self._desk, admitted.at_us, admitted.sender.gcid, taken)):
            raise Refused("delivery.over", "The delivery has come to its end before this acknowledgement")
        message = found.queued.message
        result = PostResult(session=message.session, transaction=message.transaction)
        return told_of(result, found.queued, self._tokens.veil)

    async def _respond(self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory) -> PostResult:
        request = queued.message
        if request.type is not MessageType.REQUEST:
            raise Refused(
                "reference.notification", f"A {request.type.value} expects no response; acknowledge it instead"
            )
        requester = directory.services.get(request.sender)
        if requester is None:
            raise Refused("recipient.unknown", "The service that sent the request does not exist any more")
        way = await self._way_back(admitted, queued, requester, directory)
        explanation = pack(way.tried) if way.tried else b""
        keys = await self._heavy.route(
            admitted.sender.organization,
            lambda at_once: business_keys(
                admitted.sender, (way.copy,), directory, PostedSubject(admitted, directory, posting.form, at_once)
            ),
        )
        entry = self._response(admitted, posting, queued, directory, way, len(explanation), keys)
        body = body_of(posting.message.parts, explanation, posting.setting)
        outcome = await committed(self._desk, Step(entry, body, (answer_key(queued.number),)))
        return await self._again(outcome, posting) if isinstance(outcome, Conflict) else result_of(entry)

    async def _way_back(
        self, admitted: Admitted, queued: Queued, requester: Service, directory: Directory
    ) -> ReturnRoute:
        """The response's route; where it is not valid, the requester is told, and the poster too."""
        try:
            return await self._heavy.route(
                admitted.sender.organization,
                lambda at_once: return_route(admitted, queued, requester, directory, Budget(at_once)),
            )
        except Refused as refusal:
            if not refusal.code.startswith("policy."):  # a safer connection may still bring the response
                status = Status("route.failed", f"{NO_RETURN}: {refusal.detail}")
                told = Status("route.failed", NO_RETURN) if unnamed(queued, directory) else None
                await self._ending.end(queued.journey, queued.number, "failed", status, told=told)
            if queued.shown_sender:  # the refusal may name who is kept from the poster
                raise Refused(refusal.code, NO_WAY_BACK) from None
            raise

    def _response(
        self,
        admitted: Admitted,
        posting: Posting,
        queued: Queued,
        directory: Directory,
        way: ReturnRoute,
        explained: int,
        keys: Keys,
    ) -> MessagePosted:
        message, request = admitted.message, queued.message
        parts = part_facts(message.parts)
        return MessagePosted(
            at_us=admitted.at_us,
            session=ids.session(admitted.at_us, self._randomness.bytes(10)),
            transaction=request.transaction,
            sender=admitted.sender.gcid,
            type=message.type,
            topic=message.topic or request.topic,
            size=total_size(parts),
            form=posting.form,
            expires_at_us=queued.expires_at_us,
            directory=directory.version,
            parts=parts,
            copies=(way.copy,),
            handle=message.handle,
            possible_duplicate=message.possible_duplicate,
            properties=message.properties,
            status=way.status,
            answers=Answers(queued.number, request.session, request.handle, queued.journey, queued.shown_sender),
            idempotency=posting.idempotency,
            fingerprint=posting.fingerprint,
            keys=post_keys(
                admitted.sender.gcid,
                message.handle,
                posting.idempotency,
                queued.number,
                flagged=message.possible_duplicate,
            ),
            explained=explained,
            shown_sender=way.shown_sender,
            came=posting.came,
            wire_size=posting.size,
            found_by=keys,
        )


def _answered(conflict: Conflict) -> Refused:
    detail = "This delivery has been answered before, or its time is over; one answer is all it takes"
    return Refused("reference.answered", detail, session=conflict.session)
