"""Builds the journal entries of posted messages, with one function for each origin of a message.

Rule: fields are passed by keyword, except where a measurement shows the cost of that; no other module of the server builds
``MessagePosted``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroad.core.admission.admit import Admitted
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Forwarded
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import BY_NETWORK, AnsweredDelivery, JourneyEnding, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.model.part_facts import MessageArrival, total_size
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.unique_keys import post_keys
from postroad.core.routing.search_keys import Keys
from postroad.core.telemetry.trace_context import pack_context
from postroad.flow.stages.idempotency import derive_post_keys
from postroad.flow.stages.posting import Posting, describe_parts

if TYPE_CHECKING:
    from postroad.core.model.delivery import Queued
    from postroad.core.routing.forward import Forward
    from postroad.core.routing.rules.return_route import ReturnRoute
    from postroad.flow.stages.forward import ForwardedMessage, ForwardOrigin

INTERCHANGE = "interchange"  # the form of messages that a batcher posts


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
