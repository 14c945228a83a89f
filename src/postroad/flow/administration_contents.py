"""What a message consisted of where somebody had to do with it: as posted, and as it was delivered to each stop on its way.

Kept rules: the sender's organization sees what every stop was given, except at those that somebody else keeps to itself; a
stop's own organization sees what that stop was given, without documents that the sender withheld; whoever included a stop sees
that too, as far as it may read the documents itself. An operator sees no payload. Whoever looks into a payload as a person is on
record before seeing a byte of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from postroad.core.delivery.documents import access_at, access_of_invoker, may_read
from postroad.core.identity.veil import is_pseudonym
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import AccessRecorded, Copy, Hop, MessagePosted, decode
from postroad.core.model.message import MessageType, Part
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import QUERIES
from postroad.errors import Refused
from postroad.flow.administration import not_found
from postroad.flow.commit import committed
from postroad.flow.context import in_seconds
from postroad.flow.network import Network
from postroad.flow.posting import parts_of
from postroad.ports import BodyAt, Step

DELIVERY_MOST = (1 << 63) - 1  # what an index can be asked for
Mine = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRead:
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Parts that somebody may see, among all those of the body they lie in."""

    visible: tuple[PartFacts, ...]
    parts: tuple[PartFacts, ...]
    body: BodyAt | None
    stop: Queued | None = None  # the caller's own, where it is not the sender

    def holds(self, part_id: str) -> bool:
        return any(part.id == part_id for part in self.visible)


async def part(network: Network, caller: Caller, session: str, part_id: str) -> PartRead:
    """One part of a message's body, as sent (for the sender) or as it reached the caller."""
    for content in await _contents(network, caller, session):
        if content.holds(part_id):
            return await _read(network, caller, content, part_id, f"{session} {part_id}")
    raise not_found()


async def whole(network: Network, caller: Caller, session: str) -> tuple[MessagePosted, tuple[Part, ...]]:
    """A message's header, and all of its parts that the caller may see, as sent or as they first reached the caller."""
    contents = await _contents(network, caller, session)
    if not contents:
        raise not_found()
    body = await _body(network, caller, contents[0], f"{session} *")
    parts = tuple([item for item in parts_of(contents[0].parts, body) if contents[0].holds(item.id)])
    [row, *_] = await network.index.query("message", network.tokens.veil.real_session(session))
    header = decode(row[QUERIES["message"][1].index("header")])
    if not isinstance(header, MessagePosted):
        raise not_found()
    return _as_received(header, contents[0].stop), parts


def _as_received(header: MessagePosted, stop: Queued | None) -> MessagePosted:
    """The header without recipients that are others' business; for one that is isolated, a message of whoever isolates it.

    What a recipient is told in arguments is not for those on the way.
    """
    if stop is None:
        return header
    hop = stop.hops[stop.hop]
    if hop.context is None or not hop.context.shown_sender:
        own = () if stop.in_transit else (Hop(hop.service, hop.arguments, hop.invoker),)
        copy = Copy(header.copies[stop.copy].named, own)
        return replace(header, sender=header.shown_sender or header.sender, copies=(copy,))
    kind, copies = (MessageType.REQUEST, ()) if stop.in_transit else (header.type, (Copy(hop.service, (hop,)),))
    at_us = in_seconds(header.at_us)
    return replace(header, sender=hop.context.shown_sender, type=kind, handle="", copies=copies, at_us=at_us)


async def parts_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> tuple[PartFacts, ...]:
    """What the message consisted of when it was delivered there."""
    return (await at_stop(network, caller, session, delivery)).visible


async def all_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> list[Part]:
    """All that the caller may see of the message as it was delivered there; one look, however many parts it has."""
    content = await at_stop(network, caller, session, delivery)
    if not content.visible:
        return []
    body = await _body(network, caller, content, f"{session} {delivery} *")
    return [item for item in parts_of(content.parts, body) if content.holds(item.id)]


async def part_at_stop(network: Network, caller: Caller, session: str, delivery: int, part_id: str) -> PartRead:
    """One part of the message as it was delivered there."""
    content = await at_stop(network, caller, session, delivery)
    if not content.holds(part_id):
        raise not_found()
    return await _read(network, caller, content, part_id, f"{session} {delivery} {part_id}")


async def _contents(network: Network, caller: Caller, session: str) -> list[Content]:
    """What the message consisted of where the caller had to do with it: as its sender, or at each of its own stops."""
    await network.indexed()
    real = network.tokens.veil.real_session(session) if SESSION.match(session) else ""
    rows = await network.index.query("message", real) if real else []
    header = decode(rows[0][QUERIES["message"][1].index("header")]) if rows else None
    if not isinstance(header, MessagePosted):
        return []
    row = dict(zip(QUERIES["message"][1], rows[0], strict=True))
    mine = is_mine(caller, network.directory)
    if mine(header.sender):
        at = BodyAt(row["body_segment"], row["body_offset"], row["body_length"], row["body_digest"])
        return [Content(visible=header.parts, parts=header.parts, body=at)]
    columns = QUERIES["transaction_deliveries"][1]
    deliveries = await network.index.query("transaction_deliveries", header.transaction)
    stops = [dict(zip(columns, delivery, strict=True)) for delivery in deliveries]
    own = [stop["number"] for stop in stops if stop["message_seq"] == row["seq"] and mine(stop["recipient"])]
    found = [await _found(network, caller, session, number) for number in own]
    return [content for content in found if content is not None]


async def at_stop(network: Network, caller: Caller, session: str, delivery: int) -> Content:
    """What the message consisted of at a stop that the caller may see; raises Refused for any other."""
    await network.indexed()
    if not SESSION.match(session) or not 0 < delivery <= DELIVERY_MOST:
        raise not_found()
    number = network.tokens.veil.real_number(delivery)
    content = await _found(network, caller, session, number)
    if content is None or (number == delivery and _is_isolated(content, is_mine(caller, network.directory))):
        raise not_found()
    return content


def _is_isolated(content: Content, mine: Mine) -> bool:
    """Whether those with these services know the delivery by the pseudonym of its number; the number is not for them to find."""
    stop = content.stop
    return stop is not None and bool(stop.shown_sender) and not (mine(stop.message.sender) or mine(stop.shown_sender))


async def _found(network: Network, caller: Caller, session: str, number: int) -> Content | None:
    """What was delivered there, for those who may know of it under this session."""
    found = await network.desk.find(number)
    if found is None or found.queued.message.session != network.tokens.veil.real_session(session):
        return None
    queued, mine = found.queued, is_mine(caller, network.directory)
    sees = _sight(queued, mine, network.directory)
    if sees is None or not _is_known_as(session, queued, mine):
        return None
    parts = queued.content.parts
    at = BodyAt(*queued.content.body) if queued.content.body is not None else None
    return Content(visible=tuple([one for one in parts if sees(one.id)]), parts=parts, body=at, stop=queued)


def _is_known_as(session: str, queued: Queued, mine: Mine) -> bool:
    """Whether those with these services know the delivery under this session: by a pseudonym who is isolated, and only they."""
    if mine(queued.message.sender) or mine(queued.shown_sender):
        return True
    return is_pseudonym(session) == bool(queued.shown_sender)


def _sight(queued: Queued, mine: Mine, directory: Directory) -> Callable[[str], bool] | None:
    """Which documents of a delivery those with these services may see; None when they may not know of it."""
    hop = queued.hops[queued.hop]
    given = access_at(queued, directory)
    isolating = hop.context.shown_sender if hop.context is not None else ""
    if mine(hop.service) or (mine(queued.message.sender) and (not isolating or mine(isolating))):
        return lambda part_id: may_read(part_id, given)
    if not mine(hop.invoker):
        return None
    own = access_of_invoker(queued, directory)
    return lambda part_id: may_read(part_id, given) and may_read(part_id, own)


async def _read(network: Network, caller: Caller, content: Content, part_id: str, looked_at: str) -> PartRead:
    body = await _body(network, caller, content, looked_at)
    found = next(item for item in parts_of(content.parts, body) if item.id == part_id)
    return PartRead(content_type=found.content_type, data=found.data)


async def _body(network: Network, caller: Caller, content: Content, looked_at: str) -> bytes:
    if caller.person is not None:
        entry = AccessRecorded(network.clock.now_us(), caller.name, "payload.read", looked_at[:400])
        await committed(network.desk, Step(entry, reserve=True))
    body = await network.journal.body(content.body) if content.body is not None and content.body.length else b""
    if body is None:
        raise Refused("body.dropped", "The body of this message is no longer kept; its history still is")
    return body


def is_mine(caller: Caller, directory: Directory) -> Mine:
    if caller.service is not None:
        own = caller.service.gcid
        return lambda gcid: gcid == own
    mine = {service.gcid for service in directory.services_of(caller.organization)} if caller.organization else set()
    return lambda gcid: gcid in mine
