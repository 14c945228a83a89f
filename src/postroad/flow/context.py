"""A delivery as its receiver sees it: in the context it was invoked with, and with no document that its sender withheld."""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.delivery.documents import access_for, readable
from postroad.core.model.delivery import Queued
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.snapshot import Directory
from postroad.core.routing.contexts import Ancestry, augmented


def has_context(queued: Queued) -> bool:
    """Whether there is anything to change; for most deliveries there is not."""
    return bool(queued.hops[queued.hop].context is not None or queued.content.returned or queued.in_transit)


def in_context(delivered: Delivered, queued: Queued, directory: Directory) -> Delivered:
    hops = queued.hops
    ancestry = Ancestry(hops, queued.logical)
    context = ancestry.context(queued.hop)
    delivered = replace(
        delivered,
        topic=context.topic or delivered.topic,
        properties=augmented(delivered.properties, ancestry.seen_at(queued.hop, queued.content.returned)),
    )
    if queued.in_transit:
        access = access_for(
            directory.services.get(queued.message.sender), directory.services.get(hops[queued.hop].service)
        )
        delivered = replace(delivered, parts=readable(delivered.parts, access))
    return isolated(delivered, context.shown_sender, directory) if context.shown_sender else delivered


def isolated(delivered: Delivered, shown_sender: str, directory: Directory) -> Delivered:
    """The delivery without a trace of the wider route: a request of the service that isolates what it includes."""
    service = directory.services.get(shown_sender)
    return replace(
        delivered,
        sender=service.address if service is not None else shown_sender,
        sender_gcid=shown_sender,
        handle="",
        reference=None,
        # Whoever is in transit is expected to answer, whatever the message is to others.
        type=MessageType.REQUEST if delivered.in_transit else delivered.type,
        in_transit=False,
    )
