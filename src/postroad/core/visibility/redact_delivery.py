"""Redacts a delivery for its receiver: its invocation context, without withheld documents.

Rule: an isolated service gets nothing by which it could recognise the message among those it receives openly: no
name, handle, session or number of it, and no time more exact than a second. The receiver of such a service's response
learns equally little about the requester.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.delivery.document_access import access_at, readable_parts
from postroad.core.model.contexts import Ancestry, is_requester_hidden, merge_properties, truncate_to_second
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import AnsweredMessage, Cookie, Delivered, MessageType, PostResult, Property
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.telemetry.trace_context import hide_context, unpack_context
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.errors import Refused


def has_context(queued: Queued) -> bool:
    """Whether the delivery differs from what was posted; most do not."""
    return bool(queued.hops[queued.hop].context is not None or queued.content.returned or queued.in_transit)


def apply_context(delivered: Delivered, queued: Queued, directory: Directory, pseudonyms: Pseudonyms) -> Delivered:
    """Return the delivery as its receiver may see it."""
    hops = queued.hops
    ancestry = Ancestry(hops, queued.logical)
    context = ancestry.context(queued.hop)
    delivered = replace(
        delivered,
        topic=context.topic or delivered.topic,
        properties=list_visible_properties(queued),
    )
    if queued.in_transit:
        delivered = replace(delivered, parts=readable_parts(delivered.parts, access_at(queued, directory)))
    if context.shown_sender:
        return isolate_delivery(delivered, context.shown_sender, directory, pseudonyms)
    return _redact_requester(delivered, pseudonyms) if _is_asker_hidden(queued) else delivered


def list_visible_properties(queued: Queued) -> tuple[Property, ...]:
    """Return the message's properties as its receiver sees them, with those that earlier services returned."""
    seen = Ancestry(queued.hops, queued.logical).seen_at(queued.hop, queued.content.returned)
    return merge_properties(queued.message.properties, seen)


def _is_asker_hidden(queued: Queued) -> bool:
    return is_requester_hidden(queued.message, queued.hop, queued.hops, queued.logical)


def _redact_requester(delivered: Delivered, pseudonyms: Pseudonyms) -> Delivered:
    """Hide the requester from services on the responder's side."""
    asked = (
        AnsweredMessage(pseudonyms.session(delivered.reference.session), "")
        if delivered.reference is not None
        else None
    )
    return replace(
        delivered,
        transaction=pseudonyms.session(delivered.transaction),
        reference=asked,
        expires_at_us=truncate_to_second(delivered.expires_at_us),
    )


def isolate_delivery(
    delivered: Delivered, shown_sender: str, directory: Directory, pseudonyms: Pseudonyms
) -> Delivered:
    """Return the delivery without any trace of the wider route; the service that isolates appears as its sender."""
    return replace(
        delivered,
        session=pseudonyms.session(delivered.session),
        transaction=pseudonyms.session(delivered.transaction),
        posted_at_us=truncate_to_second(delivered.posted_at_us),
        expires_at_us=truncate_to_second(delivered.expires_at_us),
        sender=directory.address_of(shown_sender),
        sender_gcid=shown_sender,
        handle="",
        reference=None,
        # An in-transit service is expected to answer, whatever the message's type.
        type=MessageType.REQUEST if delivered.in_transit else delivered.type,
        in_transit=False,
    )


def add_trace_context(delivered: Delivered, message: MessagePosted) -> Delivered:
    """Return the delivery, redacted before, with the sender's trace context if its receiver may know the sender.

    Other receivers get a context made of the transaction ID that they see.
    """
    context = unpack_context(message.trace)
    if context is None:
        return delivered
    author = message.shown_sender or message.sender if message.forwarded is not None else message.sender
    if (delivered.transaction, delivered.sender_gcid) == (message.transaction, author):
        return replace(delivered, traceparent=context.traceparent, tracestate=context.tracestate)
    return replace(delivered, traceparent=hide_context(message.trace, delivered.transaction))


def add_cookie(delivered: Delivered, directory: Directory) -> Delivered:
    """Return the delivery with the cookie that its receiver registered for this sender."""
    found = directory.cookie_for(delivered.recipient_gcid, delivered.sender_gcid)
    return replace(delivered, cookie=Cookie(found.content, found.content_type)) if found is not None else delivered


def redact_header(message: MessagePosted, hop: Hop, pseudonyms: Pseudonyms) -> MessagePosted:
    """Return the header of a message as the receiver at this hop knows it; its isolator replaces the sender."""
    if message.shown_sender:
        return replace(message, sender=message.shown_sender)
    if not hop.isolated_by:
        return message
    session, at_us = pseudonyms.session(message.session), truncate_to_second(message.at_us)
    return replace(message, session=session, at_us=at_us, sender=hop.isolated_by, handle="")


def redact_recipients(message: MessagePosted, stop: Queued) -> MessagePosted:
    """Return the header of a message without other recipients; the receiver's isolator replaces the sender.

    Recipient arguments are not shown to in-transit services.
    """
    hop = stop.hops[stop.hop]
    if not hop.isolated_by:
        own = () if stop.in_transit else (Hop(hop.service, hop.arguments, hop.invoker),)
        copy = Copy(message.copies[stop.copy].named, own)
        return replace(message, sender=message.shown_sender or message.sender, copies=(copy,))
    kind, copies = (MessageType.REQUEST, ()) if stop.in_transit else (message.type, (Copy(hop.service, (hop,)),))
    at_us = truncate_to_second(message.at_us)
    return replace(message, sender=hop.isolated_by, type=kind, handle="", copies=copies, at_us=at_us)


def redact_result(result: PostResult, queued: Queued, pseudonyms: Pseudonyms) -> PostResult:
    """Replace real ids by pseudonyms in the result of an answer to this delivery, for a hidden party."""
    if not queued.shown_sender:
        is_hidden = _is_asker_hidden(queued)
        return replace(result, transaction=pseudonyms.session(result.transaction)) if is_hidden else result
    session = pseudonyms.session(result.session) if result.session == queued.message.session else result.session
    recipients = () if queued.in_transit else result.recipients
    return replace(result, session=session, transaction=pseudonyms.session(result.transaction), recipients=recipients)


def redact_refusal(refusal: Refused, queued: Queued, pseudonyms: Pseudonyms) -> Refused:
    """Replace real ids by pseudonyms in a refusal, for a hidden party."""
    if not queued.shown_sender or refusal.session != queued.message.session:
        return refusal
    return Refused(refusal.code, refusal.detail, pointer=refusal.pointer, session=pseudonyms.session(refusal.session))
