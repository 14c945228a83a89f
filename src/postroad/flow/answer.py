"""Answers: a recipient's response goes back to the requester, an in-transit service's answer goes on to the next stop.

Kept rule: only the service that was handed a delivery can answer it, once, with the token it was given.
"""

from __future__ import annotations

from hmac import compare_digest

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import check_policies
from postroad.core.model import ids
from postroad.core.model.delivery import Found, Queued, State
from postroad.core.model.journal import (
    Answers,
    Copy,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    Hop,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.model.message import MessageType, PostResult, RecipientResult
from postroad.core.model.snapshot import Directory
from postroad.core.projection.project import answer_key, post_keys
from postroad.errors import Refused
from postroad.flow.commit import committed
from postroad.flow.posting import Posting, body_of, is_same_post, part_facts, posted_at, replayed, result_of
from postroad.ports import Conflict, Desk, Journal, Randomness, Step


class AnswerStage:
    def __init__(self, desk: Desk, journal: Journal, randomness: Randomness, token_key: bytes) -> None:
        self._desk = desk
        self._journal = journal
        self._randomness = randomness
        self._token_key = token_key

    async def answer(self, admitted: Admitted, posting: Posting, directory: Directory) -> PostResult:
        """Carry out a response or an acknowledgement; raises Refused when it does not fit what was delivered."""
        message = admitted.message
        if message.type is MessageType.CANCEL:
            raise Refused("request.not-implemented", "Messages cannot be cancelled yet; let them expire instead")
        found = await self.delivery(message.reference, admitted.sender.gcid)
        if message.type is MessageType.ACKNOWLEDGEMENT:
            return await self._acknowledge(admitted, found)
        if found.state not in (State.QUEUED, State.DELIVERED):
            raise Refused(
                "reference.invalid", f"The referenced delivery is {found.state.name.lower()}; it takes no answer"
            )
        queued = found.queued
        if queued.hop < len(queued.message.copies[queued.copy].hops) - 1:
            return await self._go_on(admitted, posting, queued)
        return await self._respond(admitted, posting, queued, directory)

    async def delivery(self, token: str, receiver: str) -> Found:
        """The delivery that this receiver was given this token for."""
        number = ids.token_number(token)
        found = await self._desk.find(number) if number is not None else None
        if (
            number is None
            or found is None
            or found.queued.recipient != receiver
            or not self._holds(token, found.queued)
        ):
            raise Refused(
                "reference.invalid",
                "The reference is not the token of a message that this service received; use the token it came with",
                pointer="/reference",
            )
        return found

    def _holds(self, token: str, queued: Queued) -> bool:
        if queued.token:  # worked out when it was handed out
            return compare_digest(token.encode(), queued.token.encode())
        return ids.token_holds(token, queued.number, queued.message.session, queued.recipient, self._token_key)

    async def _acknowledge(self, admitted: Admitted, found: Found) -> PostResult:
        queued = found.queued
        if found.state is State.QUEUED:
            await self._write(
                Step(DeliveriesAcknowledged(admitted.at_us, admitted.sender.gcid, (queued.number,)), reserve=True)
            )
        return PostResult(session=queued.message.session, transaction=queued.message.transaction)

    async def _respond(self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory) -> PostResult:
        request = queued.message
        if request.type is not MessageType.REQUEST:
            raise Refused(
                "reference.notification", f"A {request.type.value} expects no response; acknowledge it instead"
            )
        requester = directory.services.get(request.sender)
        if requester is None:
            raise Refused("recipient.unknown", "The service that sent the request does not exist any more")
        check_policies(admitted.caller, admitted.sender, (requester,))
        entry = self._response(admitted, posting, queued, directory, requester.address)
        outcome = await committed(self._desk, Step(entry, body_of(posting.message.parts), (answer_key(queued.number),)))
        if isinstance(outcome, Conflict):
            first = await posted_at(self._journal, outcome.seq)
            if first is None or not is_same_post(first, entry):
                raise _answered(outcome)
            return replayed(first)
        return result_of(entry)

    def _response(
        self, admitted: Admitted, posting: Posting, queued: Queued, directory: Directory, requester: str
    ) -> MessagePosted:
        message, request = admitted.message, queued.message
        return MessagePosted(
            at_us=admitted.at_us,
            session=ids.session(admitted.at_us, self._randomness.bytes(10)),
            transaction=request.transaction,
            sender=admitted.sender.gcid,
            type=message.type,
            topic=message.topic or request.topic,
            size=posting.size,
            form=posting.form,
            expires_at_us=admitted.expires_at_us,
            directory=directory.version,
            parts=part_facts(message.parts),
            copies=(Copy(requester, (Hop(request.sender, (), admitted.sender.gcid),)),),
            handle=message.handle,
            possible_duplicate=message.possible_duplicate,
            properties=message.properties,
            status=message.status,
            answers=Answers(queued.number, request.session, request.handle),
            idempotency=posting.idempotency,
            fingerprint=posting.fingerprint,
            keys=post_keys(admitted.sender.gcid, message.handle, posting.idempotency, queued.number),
        )

    async def _go_on(self, admitted: Admitted, posting: Posting, queued: Queued) -> PostResult:
        """An in-transit service has done its work: the changed message goes on, or its route ends with the error."""
        message, original = admitted.message, queued.message
        by = admitted.sender.gcid
        if message.status is not None:
            reason = f"{admitted.sender.address} answered {message.status.code} {message.status.text}".rstrip()
            await self._write(
                Step(DeliveriesEnded(admitted.at_us, by, "failed", reason, (queued.number,)), reserve=True)
            )
            return PostResult(session=original.session, transaction=original.transaction)
        changed = bool(message.parts)
        body = body_of(message.parts) if changed else await self._desk.body(queued)
        hops = original.copies[queued.copy].hops
        entry = InvocationReturned(
            at_us=admitted.at_us,
            delivery=queued.number,
            session=original.session,
            transaction=original.transaction,
            by=by,
            message=queued.message_seq,
            copy=queued.copy,
            hop=queued.hop + 1,
            next=hops[queued.hop + 1].service,
            size=posting.size,
            expires_at_us=queued.expires_at_us,
            parts=part_facts(message.parts) if changed else queued.content.parts,
            keys=(answer_key(queued.number),),
        )
        await self._write(Step(entry, body, (answer_key(queued.number),)))
        recipient = RecipientResult(service=original.copies[queued.copy].named)
        return PostResult(session=original.session, transaction=original.transaction, recipients=(recipient,))

    async def _write(self, step: Step) -> None:
        outcome = await committed(self._desk, step)
        if isinstance(outcome, Conflict):
            raise _answered(outcome)


def _answered(conflict: Conflict) -> Refused:
    detail = "This delivery has been answered before; one answer is all it takes"
    return Refused("reference.answered", detail, session=conflict.session)
