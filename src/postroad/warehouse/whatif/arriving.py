"""Where copies of a logged message reach exchanges and models, and what they are given there.

Kept rule: what services on the way to an exchange would make of a message is not known, so an exchange is given what was posted,
or what the one before it has made, in the context that the route says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from postroad.core.model.asset import Hosting
from postroad.core.model.journal import Copy, Hop
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.logged import Logged

FORWARDING = (Hosting.EXCHANGE, Hosting.MODEL)

Path = tuple[str, ...]  # GCIDs of the exchanges and models that a message has passed, the last being where it is


class Arrival(Struct, frozen=True):
    """A message where it reaches an exchange or a model."""

    path: Path
    delivered: Delivered
    form: str


def arrivals(
    copies: Iterable[Copy], delivered: Delivered, sender: str, path: Path, form: str, directory: Directory
) -> Iterator[Arrival]:
    """Every exchange and model that accepted copies reach; ``sender`` is who sends them, whoever is shown as having written."""
    kind = MessageType.NOTIFICATION if path else delivered.type
    for copy in copies:
        for place, hop in enumerate(copy.hops if not copy.code else ()):
            service = directory.services.get(hop.service)
            if service is not None and service.hosted in FORWARDING and service.gcid not in path:
                there = _at(hop, replace(delivered, type=kind), sender, directory)
                in_transit = place < len(copy.hops) - 1
                yield Arrival((*path, service.gcid), replace(there, in_transit=in_transit), form)


def _at(hop: Hop, delivered: Delivered, sender: str, directory: Directory) -> Delivered:
    """The message as a service on its way is given it."""
    invoker = delivered.sender_gcid if hop.invoker == sender else hop.invoker
    context = hop.context
    there = replace(delivered, arguments=hop.arguments, invoker=_address(invoker, directory))
    if context is None:
        return there
    there = replace(there, topic=context.topic or there.topic)
    if not context.shown_sender:
        return there
    return replace(there, sender=_address(context.shown_sender, directory), sender_gcid=context.shown_sender, handle="")


def as_delivered(logged: Logged, message: Message, directory: Directory) -> Delivered:
    posted = logged.posted
    return Delivered(
        session=posted.session,
        token="",
        transaction=posted.transaction,
        sender=_address(posted.sender, directory),
        sender_gcid=posted.sender,
        recipient="",
        recipient_gcid="",
        type=posted.type,
        topic=posted.topic,
        handle=posted.handle,
        arguments=(),
        reference=None,
        invoker="",
        status=posted.status,
        properties=posted.properties,
        posted_at_us=posted.at_us,
        expires_at_us=posted.expires_at_us,
        attempt=1,
        in_transit=False,
        possible_duplicate=posted.possible_duplicate,
        parts=message.parts,
    )


def _address(gcid: str, directory: Directory) -> str:
    service = directory.services.get(gcid)
    return service.address if service is not None else gcid
