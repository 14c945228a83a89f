"""A network that was restored from a backup tells receivers what may be a repetition, and uses no control number twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.segments import JournalDefect
from postroad.adapters.system import SystemClock
from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.bootstrap.backups import open_backup
from postroad.bootstrap.restores import RestorePlan, restore_into_folder, restore_into_postgres
from postroad.bootstrap.settings import Settings
from postroad.core.codecs.native_formats import FORMS
from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Organization,
    Person,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.journal import NetworkRestored, decode
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.administration.audit import list_audited_changes
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.mediate import build_header_fields
from postroad.testing.postgres import PostgresServer
from tests.samples.push_receiver import Answer, Receiver, receiver
from tests.waiting import eventually_async

WAIT_S = 60.0
DATABASES = count()
EXTERNAL = ("soap", "swa", "dime", "mime", "cloudevents")
BUYER = Service(gcid="a" * 16, organization="MyBiz", name="Buyer", visibility=Visibility.PUBLIC)
EDI = Service(gcid="b" * 16, organization="MyBiz", name="edi")
PORT = Service(
    gcid="c" * 16,
    organization="MyBiz",
    name="orders",
    hosted=Hosting.BATCHER,
    batching=Batching(
        sends_to="MyBiz/edi",
        standard="x12",
        sender="MYBIZ",
        receiver="ACME",
        envelope=(("version", "00401"),),
        policy=BatchPolicy(count=2),
    ),
)
SELLER = Service(gcid="d" * 16, organization="Acme", name="Seller", visibility=Visibility.PUBLIC)
READERS = [
    Service(gcid=f"{number:016x}", organization="Acme", name=name, format=name, visibility=Visibility.PUBLIC)
    for number, name in enumerate(EXTERNAL, 1)
]


def inbox(receiving: Receiver) -> Service:
    push = Push(url=receiving.url("/inbox"), authentication=PushAuthentication.NONE, retry_interval_s=1, tries=1_000)
    name, public = "Inbox", Visibility.PUBLIC
    return Service(
        gcid="e" * 16, organization="Acme", name=name, visibility=public, delivery=DeliveryMode.PUSH, push=push
    )


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Where a network is, and where it is restored to."""

    kind: str
    original: Settings
    restored: Settings

    async def restore(self, plan: RestorePlan) -> None:
        clock = SystemClock()
        if self.kind == "shared":
            await restore_into_postgres(plan, self.restored.postgres, clock, lambda seq: None)
        else:
            await restore_into_folder(plan, self.restored, clock, lambda seq: None)


@pytest.fixture(params=["embedded", "shared"])
def stores(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer, postgres_database: str) -> Stores:
    def settings(name: str, dsn: str) -> Settings:
        shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": dsn}
        common = {"data": str(tmp_path / name), "push_allow_private": "127.0.0.0/8", "segment_bytes": "1048576"}
        overrides = {**common, **(shared if request.param == "shared" else {})}
        return read_settings(file=Path(os.devnull), environment={}, overrides=overrides)

    other = postgres.create_database(f"restored_{next(DATABASES)}")
    return Stores(kind=request.param, original=settings("one", postgres_database), restored=settings("two", other))


@pytest.fixture
def receiving() -> Iterator[Receiver]:
    with receiver() as receiving:
        receiving.answers["/inbox"] = lambda pushed: Answer(status=503)
        yield receiving


def caller(service: Service) -> Caller:
    return Caller(service=service, level=AuthenticationLevel.KEY)


async def post(node: RunningNetwork, to: str, text: str, kind: MessageType = MessageType.NOTIFICATION) -> None:
    part = Part(id="1", content_type="text/plain", data=text.encode())
    await node.network.post(caller(BUYER), Message(to=(Recipient(to),), parts=(part,), type=kind))


async def post_orders(node: RunningNetwork, first: int) -> None:
    for number in (first, first + 1):
        order = f"ST*850*{number:04}~BEG*00*NE*{number}**20260105~SE*3*{number:04}~".encode()
        part = Part(id="1", content_type="application/edi-x12", data=order)
        await node.network.post(caller(BUYER), Message(to=(Recipient("MyBiz/orders"),), parts=(part,)))


async def take(node: RunningNetwork, service: Service) -> list[Delivered]:
    """Poll everything and acknowledge it."""
    found = await node.network.poll(caller(service), PollRequest(max=100, wait_s=WAIT_S))
    await node.network.settle(caller(service), Settlement(tokens=tuple(one.token for one in found)))
    return found


async def take_interchange(node: RunningNetwork) -> tuple[str, bool]:
    """Return the control number of the next interchange, and whether it is a possible duplicate."""
    [found] = await take(node, EDI)
    return x12.split(found.parts[0].data, OnEnvelopeError.REFUSE).reference, found.possible_duplicate


async def live_before_the_restore(settings: Settings, backup: Path, receiving: Receiver) -> None:
    """Post, back up, and then do what the backup does not contain."""
    services = (BUYER, EDI, PORT, SELLER, *READERS, inbox(receiving))
    async with open_network(settings) as node:
        houses = [Organization(name=name) for name in ("MyBiz", "Acme")]
        await node.network.configuration.change("test", [build_save(item) for item in (*houses, *services)])
        await node.network.configuration.load()
        for address in ("Acme/Seller", "Acme/Inbox", *(reader.address for reader in READERS)):
            await post(node, address, "before")
        await post(node, "Acme/Seller", "request", MessageType.REQUEST)
        await post_orders(node, 1)
        assert await take_interchange(node) == ("000000001", False)
        async with open_backup(settings, backup, clock=SystemClock()) as backing:
            await backing.run()
        assert [message.possible_duplicate for message in await take(node, SELLER)] == [False, False]
        await post_orders(node, 3)
        assert await take_interchange(node) == ("000000002", False)


@pytest.mark.req("O6", "B6")
async def test_what_may_be_a_repetition_is_marked_and_numbers_are_skipped(
    stores: Stores, tmp_path: Path, receiving: Receiver
) -> None:
    backup = tmp_path / "backup"
    await live_before_the_restore(stores.original, backup, receiving)
    assert [found for found in verify_backup(backup) if isinstance(found, JournalDefect)] == []
    contents = BackupContents(backup)
    await stores.restore(RestorePlan(contents=contents, cut=contents.manifest.entries, reason="a lost disk"))
    receiving.answers["/inbox"] = lambda pushed: Answer()
    before = len(receiving.pushed)
    async with open_network(stores.restored) as node:
        await require_marked(node)
        await require_pushed_marked(receiving, before)
        await require_new_messages_unmarked(node)
        await post_orders(node, 5)
        assert await take_interchange(node) == ("000001002", False), (
            "one after the number that 1,000 others may have used"
        )
        await post_orders(node, 7)
        assert await take_interchange(node) == ("000001003", False), "and they are skipped once"
        await require_audited(node)
        [entry] = [
            entry
            for record in (await node.network.journal.read(0, 1 << 30)).records
            if isinstance(entry := decode(record.facts), NetworkRestored)
        ]
        assert (entry.cut, entry.reason, entry.skip_numbers) == (contents.manifest.entries, "a lost disk", 1_000)


async def require_audited(node: RunningNetwork) -> None:
    operator = Caller(person=Person(email="ada@network.example", operator=True), level=AuthenticationLevel.KEY)
    changes = await list_audited_changes(node.network, operator)
    [restore] = [change for change in changes if change.kind == "restore"]
    shown = {field.field: field.after for field in restore.fields}
    assert (restore.by, restore.reason, shown["skipNumbers"]) == ("network", "a lost disk", 1_000)


async def require_marked(node: RunningNetwork) -> None:
    for reader in READERS:
        [handed] = await node.network.poll_in_format(caller(reader), PollRequest(wait_s=WAIT_S))
        assert build_header_fields(handed)["Postroad-Possible-Duplicate"] == "true", reader.format
    notification, request = await node.network.poll(caller(SELLER), PollRequest(max=10, wait_s=WAIT_S))
    for form in FORMS.values():
        [decoded] = form.decode_delivered(form.encode_delivered([notification]))
        assert decoded.possible_duplicate, form.media_type
    assert request.possible_duplicate
    part = Part(id="1", content_type="text/plain", data=b"answer")
    await node.network.post(caller(SELLER), Message(type=MessageType.RESPONSE, reference=request.token, parts=(part,)))
    [response] = await take(node, BUYER)
    assert response.possible_duplicate, "the requester may have had a response before"


async def require_pushed_marked(receiving: Receiver, before: int) -> None:
    async def is_pushed() -> bool:
        return len(receiving.pushed) > before

    await eventually_async(is_pushed, WAIT_S)
    assert receiving.pushed[-1].delivered.possible_duplicate


async def require_new_messages_unmarked(node: RunningNetwork) -> None:
    await post(node, "Acme/Seller", "after")
    found = [message for message in await take(node, SELLER) if message.parts[0].data == b"after"]
    assert [message.possible_duplicate for message in found] == [False]


@pytest.mark.req("O6")
async def test_members_of_a_batch_that_was_open_make_a_marked_interchange(
    stores: Stores, tmp_path: Path, receiving: Receiver
) -> None:
    """The lost part of the history may have sent them in another interchange."""
    async with open_network(stores.original) as node:
        items = [build_save(item) for item in (Organization(name="MyBiz"), BUYER, EDI, PORT)]
        await node.network.configuration.change("test", items)
        await post_orders(node, 1)
        assert await take_interchange(node) == ("000000001", False)
        order = Part(id="1", content_type="application/edi-x12", data=b"ST*850*0009~BEG*00*NE*9**20260105~SE*3*0009~")
        await node.network.post(caller(BUYER), Message(to=(Recipient("MyBiz/orders"),), parts=(order,)))
        async with open_backup(stores.original, tmp_path / "backup", clock=SystemClock()) as backing:
            await backing.run()
    contents = BackupContents(tmp_path / "backup")
    plan = RestorePlan(contents=contents, cut=contents.manifest.entries, skip_numbers=10)
    await stores.restore(plan)
    async with open_network(stores.restored) as node:
        await node.network.post(caller(BUYER), Message(to=(Recipient("MyBiz/orders"),), parts=(order,)))
        assert await take_interchange(node) == ("000000012", True)
