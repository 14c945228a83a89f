"""Builds the journal entries of posted, returned and rejected messages, with one function for each origin of a message.

Rules: fields are passed by keyword, except where a measurement shows the cost of that. No other module of the server builds
these entries. Client-supplied values of a rejected post are truncated, so its entry never takes more space than the message
would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Forwarded
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import (
    BY_NETWORK,
    AnsweredDelivery,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
)
from postroad.core.model.message import Message, MessageType, Status
from postroad.core.model.part_facts import MessageArrival, PartFacts, total_size
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.unique_keys import post_keys
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.itinerary import NoRoute
from postroad.core.routing.layout import Route
from postroad.core.routing.search_keys import Keys
from postroad.core.telemetry.trace_context import pack_context
from postroad.errors import Refused
from postroad.flow.stages.idempotency import derive_post_keys
from postroad.flow.stages.posting import Posting, describe_parts

if TYPE_CHECKING:
    from postroad.core.routing.forward import Forward
    from postroad.core.routing.rules.return_route import ReturnRoute
    from postroad.flow.stages.advance import NextHop
    from postroad.flow.stages.forward import ForwardedMessage, ForwardOrigin


INTERCHANGE = "interchange"  # the form of messages that a batcher posts
MAX_DETAIL = 500  # characters of a refusal's text
MAX_NAME = 200  # characters of a recipient, a topic, a part's id
MAX_LISTED = 100  # recipients and parts that are listed


def build_post(
    admitted: Admitted,
    posting: Posting,
    *,
    session: str,
    directory_version: int,
    copies: tuple[Copy, ...],
    explained: int,
    search_keys: Keys,
) -> MessagePosted:
    """Build the entry of a message that a client posted."""
    message = admitted.message
    parts = describe_parts(message.parts)
    sender = admitted.sender.gcid
    # positional: with keywords, admitting and routing a message takes 20 % longer (python -m benchmarks.accepting)
    return MessagePosted(
        admitted.at_us, session, session, sender, message.type, message.topic, total_size(parts), posting.form,
        admitted.expires_at_us, directory_version, parts, copies, message.handle, message.possible_duplicate,
        message.properties, message.status,
        None,  # answers
        posting.idempotency, posting.fingerprint, derive_post_keys(sender, message, posting), explained,
        None,  # ends
        "",  # shown_sender
        message.routing, posting.arrival,
        None,  # forwarded
        None,  # assembled
        search_keys, posting.size, posting.context,
    )  # fmt: skip


def build_response(
    admitted: Admitted,
    posting: Posting,
    queued: Queued,
    way: ReturnRoute,
    *,
    session: str,
    directory_version: int,
    explained: int,
    search_keys: Keys,
) -> MessagePosted:
    """Build the entry of a response to a request, which settles the delivery that it answers."""
    message, request = admitted.message, queued.message
    parts = describe_parts(message.parts)
    sender, flagged = admitted.sender.gcid, message.possible_duplicate
    return MessagePosted(
        at_us=admitted.at_us,
        session=session,
        transaction=request.transaction,
        sender=sender,
        type=message.type,
        topic=message.topic or request.topic,
        size=total_size(parts),
        form=posting.form,
        expires_at_us=queued.expires_at_us,
        directory=directory_version,
        parts=parts,
        copies=(way.copy,),
        handle=message.handle,
        possible_duplicate=flagged,
        properties=message.properties,
        status=way.status,
        answers=AnsweredDelivery(queued.number, request.session, request.handle, queued.journey, queued.shown_sender),
        idempotency=posting.idempotency,
        fingerprint=posting.fingerprint,
        keys=post_keys(sender, message.handle, posting.idempotency, queued.number, flagged=flagged),
        explained=explained,
        shown_sender=way.shown_sender,
        arrival=posting.arrival,
        wire_size=posting.size,
        search_keys=search_keys,
        trace=posting.context,
    )


def build_error_response(
    request: MessagePosted,
    requester: Service,
    *,
    at_us: int,
    session: str,
    sender: str,
    directory_version: int,
    status: Status,
    ending: JourneyEnding,
    keys: tuple[int, ...],
) -> MessagePosted:
    """Build the entry of an error response, which the network sends in the name of a recipient that did not respond."""
    return MessagePosted(
        at_us=at_us,
        session=session,
        transaction=request.transaction,
        sender=sender,
        type=MessageType.RESPONSE,
        topic=request.topic,
        size=0,
        wire_size=0,
        form=BY_NETWORK,
        expires_at_us=at_us + requester.default_expiration_s * 1_000_000,
        directory=directory_version,
        parts=(),
        copies=(Copy(requester.address, (Hop(requester.gcid, (), sender),)),),
        status=status,
        answers=AnsweredDelivery(0, request.session, request.handle),
        keys=keys,
        ends=ending,
    )


def build_forward(
    sent: ForwardOrigin,
    message: ForwardedMessage,
    group: Sequence[Forward],
    *,
    session: str,
    directory_version: int,
    copies: tuple[Copy, ...],
    explained: int,
    keys: tuple[int, ...],
    search_keys: Keys,
) -> MessagePosted:
    """Build the entry of a message that an exchange, model or splitter forwards to the receivers of a group."""
    header, first = message.admitted.message, group[0]
    return MessagePosted(
        at_us=message.admitted.at_us,
        session=session,
        transaction=session if sent.queued.shown_sender else sent.queued.message.transaction,
        sender=sent.queued.recipient,
        type=MessageType.NOTIFICATION,
        topic=header.topic,
        size=sum(len(part.data) for part in message.parts),
        wire_size=0,
        form=message.form,
        expires_at_us=message.admitted.expires_at_us,
        directory=directory_version,
        parts=describe_parts(message.parts),
        copies=copies,
        handle=header.handle,
        possible_duplicate=sent.delivered.possible_duplicate,
        properties=header.properties,
        keys=keys,
        explained=explained,
        shown_sender=message.written_by,
        arrival=MessageArrival(wrapper_bytes=len(message.wrapper)) if message.wrapper else None,
        forwarded=Forwarded(
            sent.queued.number,
            sent.delivered.session,
            sent.through,
            tuple([one.chosen_by for one in group]),
            session if first.alone else sent.origin,
        ),
        assembled=first.assembled,
        search_keys=search_keys,
        # as the forwarding service received it, which may be another one than the sender's
        trace=pack_context(sent.delivered.traceparent, sent.delivered.tracestate) if not first.assembled else b"",
    )


def build_interchange(
    admitted: Admitted,
    *,
    session: str,
    directory_version: int,
    copies: tuple[Copy, ...],
    explained: int,
    keys: tuple[int, ...],
    assembled: AssembledInterchange,
) -> MessagePosted:
    """Build the entry of an interchange that a batcher posts."""
    message = admitted.message
    return MessagePosted(
        at_us=admitted.at_us,
        session=session,
        transaction=session,
        sender=admitted.sender.gcid,
        type=message.type,
        topic=message.topic,
        size=sum(len(part.data) for part in message.parts),
        wire_size=0,
        form=INTERCHANGE,
        expires_at_us=admitted.expires_at_us,
        directory=directory_version,
        parts=describe_parts(message.parts),
        copies=copies,
        possible_duplicate=message.possible_duplicate,
        properties=message.properties,
        keys=keys,
        explained=explained,
        assembled=assembled,
    )


def build_return(
    admitted: Admitted,
    posting: Posting,
    queued: Queued,
    *,
    onward: NextHop,
    key: int,
    directory_version: int,
    wrapper_bytes: int,
) -> InvocationReturned:
    """Build the entry of a message that an in-transit service returned, and that continues to its next stop."""
    original = queued.message
    changed = onward.route != Route(original.copies[queued.copy].hops, original.copies[queued.copy].logical)
    parts = describe_parts(onward.parts)
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
        directory=directory_version if onward.explanation else 0,
        wrapper_bytes=wrapper_bytes,
    )


def build_refused_entry(
    caller: Caller | None, posting: Posting | None, refusal: Refused, now_us: int, session: str, *, wire_size: int,
    directory: int,
) -> tuple[MessageRefused, bytes | None]:  # fmt: skip
    """Return the entry of a rejected post, and the explanation of its route as the entry's body."""
    entry = MessageRefused(
        at_us=now_us,
        session=session,
        sender=caller.name if caller else "",
        code=refusal.code,
        detail=refusal.detail[:MAX_DETAIL],
        size=0,
        form="",
        wire_size=wire_size,
        directory=directory,
    )
    if posting is None:
        return entry, None
    explanation = pack_tried(refusal.routed.tried) if isinstance(refusal, NoRoute) and refusal.routed.tried else b""
    copies = refusal.routed.copies[:MAX_LISTED] if isinstance(refusal, NoRoute) else ()
    about = _about(entry, posting.message, posting.form)
    shortened = tuple([_shortened(copy) for copy in copies])
    kept = replace(about, copies=shortened, explained=len(explanation), trace=posting.context)
    return kept, explanation or None


def _about(entry: MessageRefused, message: Message, form: str) -> MessageRefused:
    facts = describe_parts(message.parts)
    return replace(
        entry,
        form=form,
        size=total_size(facts),
        handle=message.handle[:MAX_DETAIL],
        named=tuple([recipient.service[:MAX_NAME] for recipient in message.to[:MAX_LISTED]]),
        type=message.type.value,
        topic=message.topic[:MAX_NAME],
        parts=tuple([_described(part) for part in facts[:MAX_LISTED]]),
    )


def _described(part: PartFacts) -> PartFacts:
    return replace(part, id=part.id[:MAX_NAME], content_type=part.content_type[:MAX_NAME], headers=())


def _shortened(copy: Copy) -> Copy:
    return Copy(copy.named[:MAX_NAME], (), copy.code, copy.detail[:MAX_DETAIL])
