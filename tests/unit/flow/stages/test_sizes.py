"""One measure of size at every stage: the bytes of documents and attachments; the bytes on the wire are told apart."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.billing.uses import list_uses
from postroad.core.model.directory import Visibility
from postroad.core.model.history import MessageHistory
from postroad.core.model.journal import InvocationReturned, MessagePosted, decode
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.sizes import content_size, wire_size
from postroad.flow.administration.messages.message_list import MessageSearch, browse
from postroad.testing.network import MemoryNetwork, memory_network

DOCUMENT, CHANGED = b"<order>" + b"x" * 95 + b"</order>", b"<order>shorter</order>"
SCAN = Part(id="scan", content_type="image/png", data=bytes(40), attachment=True)
CONTENT = len(DOCUMENT) + len(SCAN.data)


async def sent_through_a_service(running: MemoryNetwork) -> MessageHistory:
    """A request of MyBiz that passes Transmatics, which changes it, and is answered by Acme; its history for MyBiz."""
    network, public = running.network, {"visibility": Visibility.PUBLIC}
    buyer = await running.register("MyBiz/Buyer")
    work = await running.register("Transmatics/Work", **public)
    acme = await running.register("Acme/Supply", **public)
    parts = (Part(id="1", content_type="application/xml", data=DOCUMENT), SCAN)
    order = Message(
        to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/Work"),), parts=parts, type=MessageType.REQUEST
    )
    posted = await network.post(buyer, order, size=211, form="json")
    [at_work] = await network.poll(work, PollRequest())
    changed = (Part(id="1", content_type="application/xml", data=CHANGED), SCAN)
    answer = Message(type=MessageType.RESPONSE, reference=at_work.token, parts=changed)
    await network.post(work, answer, size=247, form="soap12")
    [at_acme] = await network.poll(acme, PollRequest())
    await network.post(acme, Message(type=MessageType.RESPONSE, reference=at_acme.token, parts=(SCAN,)), size=300)
    found = await network.trace(posted.session, "MyBiz")
    assert found is not None
    return next(one for one in found.messages if one.session == posted.session)


async def entries(running: MemoryNetwork) -> list[tuple[int, MessagePosted | InvocationReturned]]:
    records = (await running.network.journal.read(0)).records
    read = [(record.seq, decode(record.facts)) for record in records]
    return [(seq, one) for seq, one in read if isinstance(one, MessagePosted | InvocationReturned)]


@pytest.mark.req("A1")
async def test_every_stage_tells_the_bytes_of_documents_and_attachments() -> None:
    async with memory_network() as running:
        message = await sent_through_a_service(running)
        assert (message.size, message.wire_size) == (CONTENT, 211)
        assert [stop.size for stop in message.copies[0].stops] == [CONTENT, len(CHANGED) + len(SCAN.data)]
        told = [(one.size, one.wire_size) for _, one in await entries(running)]
        assert told == [(CONTENT, 211), (len(CHANGED) + len(SCAN.data), 247), (len(SCAN.data), 300)]


@pytest.mark.req("A1")
async def test_only_the_sender_learns_what_came_over_the_wire() -> None:
    async with memory_network() as running:
        message = await sent_through_a_service(running)
        seen = await running.network.trace(message.session, "Acme")
        assert seen is not None
        assert [(one.size, one.wire_size) for one in seen.messages if one.session == message.session] == [(CONTENT, 0)]


@pytest.mark.req("P3")
async def test_bills_count_documents_and_attachments_at_every_stage() -> None:
    async with memory_network() as running:
        await sent_through_a_service(running)
        assert [use.size for use in list_uses(await entries(running))] == [
            CONTENT, len(CHANGED) + len(SCAN.data), len(SCAN.data),
        ]  # fmt: skip


@pytest.mark.req("P3")
async def test_an_old_entry_keeps_its_bill_and_shows_its_content() -> None:
    async with memory_network() as running:
        await sent_through_a_service(running)
        for seq, entry in await entries(running):
            old = decode(msgspec.msgpack.encode(_without_wire_size(entry, 5_000)))
            assert isinstance(old, MessagePosted | InvocationReturned)
            assert (content_size(old), wire_size(old), old.size) == (content_size(entry), 5_000, 5_000)
            assert {use.size for use in list_uses([(seq, old)])} <= {5_000}


def _without_wire_size(entry: MessagePosted | InvocationReturned, size: int) -> list[object]:
    """The entry as it was written before the two sizes were told apart."""
    fields = msgspec.to_builtins(msgspec.structs.replace(entry, size=size, wire_size=-1))
    assert isinstance(fields, list)
    return fields[:-1]


@pytest.mark.req("A1")
async def test_lists_tell_the_same_size() -> None:
    async with memory_network() as running:
        message = await sent_through_a_service(running)
        buyer = await running.enroll("owner@mybiz.example", organization="MyBiz")
        page = await browse(running.network, buyer, MessageSearch(box="sent"))
        assert [content_size(row["message"]) for row in page.rows] == [message.size]
        [row] = await running.network.index.query("message", message.session)
        assert CONTENT in row
