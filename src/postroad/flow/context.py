"""A delivery as its receiver sees it: in the context it was invoked with, and with no document that its sender withheld.

Kept rule: whoever is isolated finds nothing by which it could know the message again among those it gets openly: no name, no
handle, no session or number of it, and no time more exact than a second. Whoever the response of such a service passes on its
side learns as little of the one who asked.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.delivery.documents import access_at, readable
from postroad.core.identity.veil import Veil
from postroad.core.model.delivery import Queued
from postroad.core.model.message import Cookie, Delivered, MessageType, PostResult, Property, Reference
from postroad.core.model.snapshot import Directory
from postroad.core.routing.contexts import Ancestry, augmented, is_asker_hidden
from postroad.errors import Refused


def has_context(queued: Queued) -> bool:
    """Whether there is anything to change; for most deliveries there is not."""
    return bool(queued.hops[queued.hop].context is not None or queued.content.returned or queued.in_transit)


def in_context(delivered: Delivered, queued: Queued, directory: Directory, veil: Veil) -> Delivered:
    hops = queued.hops
    ancestry = Ancestry(hops, queued.logical)
    context = ancestry.context(queued.hop)
    delivered = replace(
        delivered,
        topic=context.topic or delivered.topic,
        properties=properties_at(queued),
    )
    if queued.in_transit:
        delivered = replace(delivered, parts=readable(delivered.parts, access_at(queued, directory)))
    if context.shown_sender:
        return isolated(delivered, context.shown_sender, directory, veil)
    return _to_unknown(delivered, veil) if _is_asker_hidden(queued) else delivered


def properties_at(queued: Queued) -> tuple[Property, ...]:
    """The message's properties as its receiver sees them, with what services on the way have returned."""
    seen = Ancestry(queued.hops, queued.logical).seen_at(queued.hop, queued.content.returned)
    return augmented(queued.message.properties, seen)


def _is_asker_hidden(queued: Queued) -> bool:
    return is_asker_hidden(queued.message, queued.hop, queued.hops, queued.logical)


def _to_unknown(delivered: Delivered, veil: Veil) -> Delivered:
    """A response to somebody whom those on this side know by pseudonyms alone."""
    asked = Reference(veil.session(delivered.reference.session), "") if delivered.reference is not None else None
    return replace(
        delivered,
        transaction=veil.session(delivered.transaction),
        reference=asked,
        expires_at_us=in_seconds(delivered.expires_at_us),
    )


def isolated(delivered: Delivered, shown_sender: str, directory: Directory, veil: Veil) -> Delivered:
    """The delivery without a trace of the wider route: a request of the service that isolates what it includes."""
    service = directory.services.get(shown_sender)
    return replace(
        delivered,
        session=veil.session(delivered.session),
        transaction=veil.session(delivered.transaction),
        posted_at_us=in_seconds(delivered.posted_at_us),
        expires_at_us=in_seconds(delivered.expires_at_us),
        sender=service.address if service is not None else shown_sender,
        sender_gcid=shown_sender,
        handle="",
        reference=None,
        # Whoever is in transit is expected to answer, whatever the message is to others.
        type=MessageType.REQUEST if delivered.in_transit else delivered.type,
        in_transit=False,
    )


def in_seconds(at_us: int) -> int:
    return at_us - at_us % 1_000_000


def with_cookie(delivered: Delivered, directory: Directory) -> Delivered:
    """The delivery with what its receiver asked to be told of this sender, as the receiver knows it."""
    found = directory.cookie_for(delivered.recipient_gcid, delivered.sender_gcid)
    return replace(delivered, cookie=Cookie(found.content, found.content_type)) if found is not None else delivered


def told_of(result: PostResult, queued: Queued, veil: Veil) -> PostResult:
    """The answer to whoever answered this delivery, in the words it knows the message by."""
    if not queued.shown_sender:
        is_hidden = _is_asker_hidden(queued)
        return replace(result, transaction=veil.session(result.transaction)) if is_hidden else result
    session = veil.session(result.session) if result.session == queued.message.session else result.session
    recipients = () if queued.in_transit else result.recipients
    return replace(result, session=session, transaction=veil.session(result.transaction), recipients=recipients)


def refused_to(refusal: Refused, queued: Queued, veil: Veil) -> Refused:
    """The same of a refusal."""
    if not queued.shown_sender or refusal.session != queued.message.session:
        return refusal
    return Refused(refusal.code, refusal.detail, pointer=refusal.pointer, session=veil.session(refusal.session))
