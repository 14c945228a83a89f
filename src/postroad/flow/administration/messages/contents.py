"""Message contents and MDNs, as posted and as delivered to each stop, as far as the caller may see them.

Rules: the sender's organization sees what was delivered at every stop, except at stops that another party hides from
it. A stop's own organization sees what that stop received, without documents that the sender withheld. A service that
included a stop sees that stop's deliveries too, as far as it may read the documents itself. Operators see no payload.
A person's access to a payload is recorded before the first byte is returned.

Also returns the stored MDN of a delivery, for disputes, to viewers of that stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from postroad.core.delivery.document_access import access_at, access_of_invoker, may_read
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import AccessRecorded, DeliveriesAcknowledged, MessagePosted, decode
from postroad.core.model.message import Part
from postroad.core.model.part_facts import PartFacts
from postroad.core.projection.queries import QUERIES
from postroad.core.visibility.pseudonyms import is_pseudonym
from postroad.core.visibility.redact_delivery import redact_recipients
from postroad.core.visibility.viewer import Viewer
from postroad.errors import Refused
from postroad.flow.administration.base import not_found
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.network import Network
from postroad.flow.stages.posting import decode_parts
from postroad.ports import BodyAt, JournalStep

MAX_DELIVERY = (1 << 63) - 1  # what an index can be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContent:
    """A part that was read."""

    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleContent:
    """The parts that the caller may see, among all parts of the stored body."""

    visible: tuple[PartFacts, ...]
    parts: tuple[PartFacts, ...]
    body: BodyAt | None
    stop: Queued | None = None  # the caller's own, where it is not the sender

    def holds(self, part_id: str) -> bool:
        return any(part.id == part_id for part in self.visible)


async def read_part(network: Network, caller: Caller, session: str, part_id: str) -> PartContent:
    """Return one part of a message, as sent for the sender or as it reached the caller."""
    for content in await _contents(network, caller, session):
        if content.holds(part_id):
            return await _read(network, caller, content, part_id, f"{session} {part_id}")
    raise not_found()


async def read_message(network: Network, caller: Caller, session: str) -> tuple[MessagePosted, tuple[Part, ...]]:
    """Return a message's header and all parts that the caller may see, as sent or as first received."""
    contents = await _contents(network, caller, session)
    if not contents:
        raise not_found()
    body = await _body(network, caller, contents[0], f"{session} *")
    parts = tuple([item for item in decode_parts(contents[0].parts, body) if contents[0].holds(item.id)])
    [row, *_] = await network.index.query("message", network.tokens.pseudonyms.real_session(session))
    header = decode(row[QUERIES["message"][1].index("header")])
    if not isinstance(header, MessagePosted):
        raise not_found()
    stop = contents[0].stop
    return header if stop is None else redact_recipients(header, stop), parts


async def list_parts_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> tuple[PartFacts, ...]:
    """Return the message's parts as delivered to this stop."""
    return (await find_content_at_stop(network, caller, session, delivery)).visible


async def read_parts_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> list[Part]:
    """Return all visible parts as delivered to this stop, recorded as one access."""
    content = await find_content_at_stop(network, caller, session, delivery)
    if not content.visible:
        return []
    body = await _body(network, caller, content, f"{session} {delivery} *")
    return [item for item in decode_parts(content.parts, body) if content.holds(item.id)]


async def read_part_at_stop(network: Network, caller: Caller, session: str, delivery: int, part_id: str) -> PartContent:
    """Return one part as delivered to this stop."""
    content = await find_content_at_stop(network, caller, session, delivery)
    if not content.holds(part_id):
        raise not_found()
    return await _read(network, caller, content, part_id, f"{session} {delivery} {part_id}")


async def _contents(network: Network, caller: Caller, session: str) -> list[VisibleContent]:
    """Return the contents that the caller may see, as sender or at its own stops."""
    await network.wait_until_indexed()
    real = network.tokens.pseudonyms.real_session(session) if SESSION.match(session) else ""
    rows = await network.index.query("message", real) if real else []
    header = decode(rows[0][QUERIES["message"][1].index("header")]) if rows else None
    if not isinstance(header, MessagePosted):
        return []
    row = dict(zip(QUERIES["message"][1], rows[0], strict=True))
    viewer = Viewer.of_party(caller, network.directory)
    if viewer.owns(header.sender):
        at = BodyAt(row["body_segment"], row["body_offset"], row["body_length"], row["body_digest"])
        return [VisibleContent(visible=header.parts, parts=header.parts, body=at)]
    columns = QUERIES["transaction_deliveries"][1]
    deliveries = await network.index.query("transaction_deliveries", header.transaction)
    stops = [dict(zip(columns, delivery, strict=True)) for delivery in deliveries]
    own = [stop["number"] for stop in stops if stop["message_seq"] == row["seq"] and viewer.owns(stop["recipient"])]
    found = [await _found(network, caller, session, number) for number in own]
    return [content for content in found if content is not None]


async def find_content_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> VisibleContent:
    """Return the content at a stop that the caller may see; raises Refused for any other."""
    await network.wait_until_indexed()
    if not SESSION.match(session) or not 0 < delivery <= MAX_DELIVERY:
        raise not_found()
    number = network.tokens.pseudonyms.real_number(delivery)
    content = await _found(network, caller, session, number)
    if content is None or (number == delivery and _is_isolated(content, Viewer.of_party(caller, network.directory))):
        raise not_found()
    return content


def _is_isolated(content: VisibleContent, viewer: Viewer) -> bool:
    """Whether the viewer knows the delivery only by a pseudonym."""
    stop = content.stop
    return stop is not None and viewer.is_hidden(stop.message.sender, stop.shown_sender)


async def _found(network: Network, caller: Caller, session: str, number: int) -> VisibleContent | None:
    """Return what was delivered there, if the caller may know of it under this session."""
    found = await network.desk.find(number)
    if found is None or found.queued.message.session != network.tokens.pseudonyms.real_session(session):
        return None
    queued, viewer = found.queued, Viewer.of_party(caller, network.directory)
    sees = _document_test(queued, viewer)
    if sees is None or not _is_known_as(session, queued, viewer):
        return None
    parts = queued.content.parts
    at = BodyAt(*queued.content.body) if queued.content.body is not None else None
    return VisibleContent(visible=tuple([one for one in parts if sees(one.id)]), parts=parts, body=at, stop=queued)


def _is_known_as(session: str, queued: Queued, viewer: Viewer) -> bool:
    """Whether the viewer knows the delivery under this session; an isolated receiver by a pseudonym only."""
    if viewer.owns(queued.message.sender) or viewer.owns(queued.shown_sender):
        return True
    return is_pseudonym(session) == bool(queued.shown_sender)


def _document_test(queued: Queued, viewer: Viewer) -> Callable[[str], bool] | None:
    """Return a test for the documents that the viewer may see; None if the delivery is hidden from the viewer."""
    hop = queued.hops[queued.hop]
    given = access_at(queued, viewer.directory)
    is_sender = viewer.owns(queued.message.sender)
    if viewer.owns(hop.service) or (is_sender and not viewer.is_hidden(hop.service, hop.isolated_by)):
        return lambda part_id: may_read(part_id, given)
    if not viewer.owns(hop.invoker):
        return None
    own = access_of_invoker(queued, viewer.directory)
    return lambda part_id: may_read(part_id, given) and may_read(part_id, own)


async def _read(network: Network, caller: Caller, content: VisibleContent, part_id: str, looked_at: str) -> PartContent:
    body = await _body(network, caller, content, looked_at)
    found = next(item for item in decode_parts(content.parts, body) if item.id == part_id)
    return PartContent(content_type=found.content_type, data=found.data)


async def _body(network: Network, caller: Caller, content: VisibleContent, looked_at: str) -> bytes:
    if caller.person is not None:
        entry = AccessRecorded(
            at_us=network.clock.now_us(), by=caller.name, what="payload.read", detail=looked_at[:400]
        )
        await commit_step(network.desk, JournalStep(entry, reserve=True))
    body = await network.journal.body(content.body) if content.body is not None and content.body.length else b""
    if body is None:
        raise Refused("body.dropped", "The body of this message is no longer stored; its history still is")
    return body


COLUMNS = QUERIES["transaction_deliveries"][1]
NUMBER, SETTLED_BY = COLUMNS.index("number"), COLUMNS.index("settle_seq")


async def read_mdn_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> bytes:
    """Return the MDN's bytes; raises Refused if it is missing, hidden or dropped by retention."""
    stop = (await find_content_at_stop(network, caller, session, delivery)).stop
    at = await _place(network, stop) if stop is not None else None
    if at is None:
        raise not_found()
    receipt = await network.journal.body(at)
    if receipt is None:
        raise Refused("body.dropped", "The MDN of this message is no longer stored; its history still is")
    return receipt


async def _place(network: Network, stop: Queued) -> BodyAt | None:
    """Return the location of the MDN, which is stored with the acknowledgment.

    The documents of a response belong to the response itself.
    """
    rows = await network.index.query("transaction_deliveries", stop.message.transaction)
    seq = next((row[SETTLED_BY] for row in rows if row[NUMBER] == stop.number), 0)
    records = (await network.journal.read(seq - 1, 1)).records if seq else []
    is_receipt = bool(records) and isinstance(decode(records[0].facts), DeliveriesAcknowledged)
    return records[0].body if is_receipt else None
