"""The network runs its own services: over the real stages in memory, with nothing but the transformer played."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Organization, Visibility
from postroad.core.model.message import Argument, Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Unavailable
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.services.catalogue import CATALOGUE
from postroad.services.hosting import mailbox_worker
from postroad.services.hosting.hosted_services import HostedServices, run_hosted_services
from postroad.services.hosting.mailbox_worker import AT_ONCE
from postroad.services.hosting.runner import AT_A_TIME
from postroad.services.service import ServiceResult, Tools
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.workbench import UpperCase, document, engines
from tests.waiting import eventually_async, forever

ORDER = document("<Order><CustomerNumber>3489</CustomerNumber><Zip>62701</Zip></Order>")
SOON_S = 30.0


class Parties:
    """MyBiz and Acme, and between them whatever a test hosts."""

    def __init__(self, running: MemoryNetwork, mybiz: Caller, acme: Caller) -> None:
        self.running, self.network, self.mybiz, self.acme = running, running.network, mybiz, acme

    async def host(
        self, address: str, hosted: Hosting, *assets: tuple[AssetKind, str, str], **profile: object
    ) -> Caller:
        caller = await self.running.register(address, visibility=Visibility.PUBLIC, hosted=hosted, **profile)
        assert caller.service is not None
        changes = [
            build_save(Asset(service=caller.service.gcid, kind=kind, name=name, content=content))
            for kind, name, content in assets
        ]
        if changes:
            await self.network.configuration.change("test", changes)
        return caller

    async def post(
        self, *stops: Recipient, to: str = "TheAcmeCompany/Supply", part: Part = ORDER, **more: object
    ) -> str:
        message = Message(
            to=(Recipient(to),),
            route=stops,
            parts=(part,),
            **{"type": MessageType.REQUEST} | more,  # type: ignore[arg-type]
        )
        return (await self.network.post(self.mybiz, message)).session

    async def ask(self, to: str, type: MessageType = MessageType.REQUEST, /, **arguments: str) -> Delivered:
        recipient = Recipient(to, tuple(Argument(*pair) for pair in arguments.items()))
        await self.network.post(self.mybiz, Message(to=(recipient,), type=type, parts=(ORDER,)))
        return await self.arrived(self.mybiz)

    async def arrived(self, at: Caller) -> Delivered:
        [delivered] = await self.network.poll(at, PollRequest(max=1, wait_s=SOON_S))
        await self.network.settle(at, Settlement(tokens=(delivered.token,)))
        return delivered

    async def nothing_arrives(self, at: Caller) -> bool:
        return not await self.network.poll(at, PollRequest(wait_s=0.2))


def stop(service: str, **arguments: str) -> Recipient:
    return Recipient(service, tuple(Argument(name.rstrip("_"), value) for name, value in arguments.items()))


@pytest.fixture
async def parties() -> AsyncIterator[Parties]:
    async with memory_network() as running, run_hosted_services(running.network, engines(UpperCase())):
        mybiz = await running.register("MyBiz/Purchasing")
        yield Parties(running, mybiz, await running.register("TheAcmeCompany/Supply", visibility=Visibility.PUBLIC))


@pytest.mark.req("S1")
@pytest.mark.req("S2")
async def test_a_message_is_worked_on_by_one_hosted_service_after_the_other(parties: Parties) -> None:
    await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "capitals", "<capitals/>"))
    await parties.host("XpandiCo/zipPlus4", Hosting.LOOKUP, (AssetKind.TABLE, "zips", "zip,plus4\n62701,62701-1234\n"))
    await parties.post(stop("XpandiCo/zipPlus4", element="//Zip"), stop("Transmatics/xslt", stylesheet="capitals"))
    request = await parties.arrived(parties.acme)
    assert b"<ZIP>62701-1234</ZIP>" in request.parts[0].data
    assert (request.parts[0].id, request.parts[0].content_type) == ("1", "application/xml")


async def test_a_notification_passes_too_and_one_that_ends_there_is_acknowledged(parties: Parties) -> None:
    xslt = await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "a", "<a/>"))
    await parties.post(stop("Transmatics/xslt"), type=MessageType.NOTIFICATION)
    assert b"<ORDER>" in (await parties.arrived(parties.acme)).parts[0].data
    session = await parties.post(to="Transmatics/xslt", type=MessageType.NOTIFICATION)

    async def is_acknowledged() -> bool:
        return "acknowledged" in str(await parties.network.trace(session, None))

    await eventually_async(is_acknowledged)
    assert await parties.nothing_arrives(xslt)


class Hanging(UpperCase):
    """One that takes its time over some documents."""

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        if b"hang" in document:
            await asyncio.sleep(SOON_S)  # sleeps: longer than the others may take
        return await super().transform(stylesheet, document, parameters)


@pytest.mark.req("Z3", "D8")
async def test_however_much_of_one_organization_hangs_the_services_of_others_work_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mailbox_worker, "GRACE_S", 0.0)
    async with memory_network() as running, run_hosted_services(running.network, engines(Hanging())):
        mybiz = await running.register("MyBiz/Purchasing")
        parties = Parties(running, mybiz, await running.register("TheAcmeCompany/Supply", visibility=Visibility.PUBLIC))
        sheet = (AssetKind.STYLESHEET, "a", "<a/>")
        for number in range(AT_A_TIME // AT_ONCE):
            await parties.host(f"Slow/xslt {number}", Hosting.XSLT, sheet)
            for _ in range(AT_ONCE):
                await parties.post(to=f"Slow/xslt {number}", part=document("<hang/>"))
        await parties.host("Quick/xslt", Hosting.XSLT, sheet)
        await parties.post(to="Quick/xslt")
        [answered] = await parties.network.poll(mybiz, PollRequest(wait_s=20.0))  # sooner than one that hangs is over
        assert answered.sender == "Quick/xslt"


async def test_a_hosted_service_can_be_asked_directly(parties: Parties) -> None:
    await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "a", "<a/>"))
    response = await parties.ask("Transmatics/xslt", stylesheet="a")
    assert (response.type, response.status) == (MessageType.RESPONSE, None)
    assert response.parts[0].data == ORDER.data.upper()
    refused = await parties.ask("Transmatics/xslt", stylesheet="none")
    assert refused.status is not None
    assert refused.status.code == "not-found"


@pytest.mark.req("S4")
async def test_a_filter_ends_the_route_of_unwelcome_senders(parties: Parties) -> None:
    await parties.host("KeepEmOut/filter", Hosting.FILTER, (AssetKind.LIST, "welcome", '{"allow": ["Friends"]}'))
    await parties.post(stop("KeepEmOut/filter", list="welcome"))
    response = await parties.arrived(parties.mybiz)
    assert response.status is not None
    assert "MyBiz/Purchasing" in response.status.text
    assert await parties.nothing_arrives(parties.acme)
    friend = await parties.running.register("Friends/Shop")
    welcome = Message(to=(Recipient("TheAcmeCompany/Supply"),), route=(stop("KeepEmOut/filter"),), parts=(ORDER,))
    await parties.network.post(friend, welcome)
    assert (await parties.arrived(parties.acme)).parts == (ORDER,)


@pytest.mark.req("S3")
async def test_keys_are_related_by_message_and_exchanged_in_transit(parties: Parties) -> None:
    content = json.dumps({"services": ["MyBiz", "TheAcmeCompany"]})
    await parties.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "customers", content))
    put = {"operation": "put", "keyName": "number", "keyValue": "3489", "name": "Bits"}
    assert (await parties.ask("Transmatics/xref", **put)).status is None
    related = await parties.ask(
        "Transmatics/xref", operation="relate", keyName="number", keyValue="3489",
        otherService="TheAcmeCompany/Supply", otherKeyName="id", otherKeyValue="BX0045012",
    )  # fmt: skip
    assert (related.status, related.parts) == (None, ())
    await parties.post(
        stop("Transmatics/xref", operation="replaceElement", element="//CustomerNumber", keyName="number")
    )
    assert b"<CustomerNumber>BX0045012<" in (await parties.arrived(parties.acme)).parts[0].data
    answer = await parties.ask("Transmatics/xref", operation="query", keyName="number", keyValue="3489")
    assert [(one["service"], one["pairs"]) for one in json.loads(answer.parts[0].data)["records"]] == [
        ("MyBiz/Purchasing", {"name": "Bits"}),  # being related took nothing from it
        ("TheAcmeCompany/Supply", {}),
    ]


@pytest.mark.req("S3")
@pytest.mark.req("R13")
async def test_a_watched_response_comes_back_through_the_service_and_relates_the_keys(parties: Parties) -> None:
    content = json.dumps({"services": ["MyBiz", "TheAcmeCompany"]})
    await parties.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "customers", content), returns=True)
    watching = stop(
        "Transmatics/xref", operation="watch", element="//CustomerNumber", keyName="number",
        responseElement="//Customer/@id", responseKeyName="id",
    )  # fmt: skip
    await parties.post(watching)
    [request] = await parties.network.poll(parties.acme, PollRequest(wait_s=SOON_S))
    confirmation = document('<Confirmation><Customer id="BX0045012"/></Confirmation>')
    await parties.network.post(
        parties.acme, Message(type=MessageType.RESPONSE, reference=request.token, parts=(confirmation,))
    )
    assert (await parties.arrived(parties.mybiz)).parts == (confirmation,)
    await parties.post(
        stop("Transmatics/xref", operation="replaceElement", element="//CustomerNumber", keyName="number")
    )
    assert b"<CustomerNumber>BX0045012<" in (await parties.arrived(parties.acme)).parts[0].data


@pytest.mark.req("N5")
async def test_a_document_that_the_sender_withholds_comes_back_untouched(parties: Parties) -> None:
    await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "a", "<a/>"))
    assert parties.mybiz.service is not None
    access = DocumentAccess(service="Transmatics/xslt", read=("open",), change=("open",))
    await parties.network.configuration.change(
        "test", [build_save(replace(parties.mybiz.service, document_access=(access,)))]
    )
    parts = (document("<open/>", "open"), document("<secret/>", "secret"))
    message = Message(to=(Recipient("TheAcmeCompany/Supply"),), route=(stop("Transmatics/xslt"),), parts=parts)
    await parties.network.post(parties.mybiz, message)
    assert [part.data for part in (await parties.arrived(parties.acme)).parts] == [b"<OPEN/>", b"<secret/>"]


class Playing:
    """A service that does what the topic says."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()

    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        if message.topic == "poison":
            raise KeyError("what the message says")
        if message.topic == "away" and message.attempt == 1:
            raise Unavailable("network.unavailable", "not now")
        if message.topic == "wait":
            self.running += 1
            self.most = max(self.most, self.running)
            self.begun.set()
            await self.go_on.wait()
            self.running -= 1
        return ServiceResult()


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> Playing:
    service = Playing()
    monkeypatch.setitem(CATALOGUE, Hosting.XSLT, service)
    monkeypatch.setattr("postroad.services.hosting.runner.RETRY_S", 0.1)
    return service


async def test_a_poisoned_message_concerns_itself_alone(
    parties: Parties, playing: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    await parties.host("Play/er", Hosting.XSLT)
    with caplog.at_level(logging.INFO):
        await parties.post(stop("Play/er"), topic="poison")
        await parties.post(stop("Play/er"), topic="fine")
        assert (await parties.arrived(parties.acme)).topic == "fine"
        response = await parties.arrived(parties.mybiz)
    assert response.status is not None
    assert "service.failed" in response.status.text + response.status.code
    assert "KeyError in test_hosting.py" in caplog.text
    assert "what the message says" not in caplog.text


async def test_what_cannot_be_done_now_is_tried_again(parties: Parties, playing: Playing) -> None:
    await parties.host("Play/er", Hosting.XSLT)
    await parties.post(stop("Play/er"), topic="away")
    assert (await parties.arrived(parties.acme)).topic == "away"


async def test_no_more_than_a_few_are_worked_on_at_once(parties: Parties, playing: Playing) -> None:
    await parties.host("Play/er", Hosting.XSLT)
    await parties.host("Play/two", Hosting.LOOKUP, (AssetKind.TABLE, "zips", "zip,plus4\n62701,x\n"))
    for _ in range(AT_ONCE * 2):
        await parties.post(stop("Play/er"), topic="wait")
    await asyncio.wait_for(playing.begun.wait(), SOON_S)
    await parties.post(stop("Play/two", element="//Zip"), topic="other")
    assert (await parties.arrived(parties.acme)).topic == "other"  # others are not kept waiting
    assert playing.most == AT_ONCE
    playing.go_on.set()
    for _ in range(AT_ONCE * 2):
        assert (await parties.arrived(parties.acme)).topic == "wait"
    assert playing.most == AT_ONCE


async def test_a_service_is_attended_to_as_soon_and_as_long_as_it_is_hosted(parties: Parties) -> None:
    xslt = await parties.running.register("Transmatics/xslt", visibility=Visibility.PUBLIC)
    assert xslt.service is not None
    sheet = Asset(service=xslt.service.gcid, kind=AssetKind.STYLESHEET, name="a", content="<a/>")
    await parties.network.configuration.change("test", [build_save(sheet)])
    await parties.post(stop("Transmatics/xslt"))
    assert await parties.nothing_arrives(parties.acme)
    await parties.network.configuration.change("test", [build_save(replace(xslt.service, hosted=Hosting.XSLT))])
    assert b"<ORDER>" in (await parties.arrived(parties.acme)).parts[0].data
    await parties.network.configuration.change("test", [build_save(xslt.service)])
    await parties.post(stop("Transmatics/xslt"))
    assert await parties.nothing_arrives(parties.acme)


async def test_a_changed_profile_holds_for_the_next_message(parties: Parties) -> None:
    xref = await parties.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "a", '{"services": "*"}'))
    assert xref.service is not None
    query = {"keyName": "number", "keyValue": "1"}
    unsaid = await parties.ask("Transmatics/xref", **query)
    assert unsaid.status is not None
    assert "operation" in unsaid.status.text
    await parties.network.configuration.change("test", [build_save(replace(xref.service, operations=("query",)))])
    assert (await parties.ask("Transmatics/xref", **query)).status is None


@pytest.mark.parametrize("who", ["service", "organization"])
async def test_messages_of_a_suspended_service_wait(parties: Parties, who: str) -> None:
    xslt = await parties.running.register("Transmatics/xslt", visibility=Visibility.PUBLIC)
    assert xslt.service is not None
    hosted = replace(xslt.service, hosted=Hosting.XSLT)
    house = Organization(name="Transmatics", suspended="unpaid" if who == "organization" else "")
    sheet = Asset(service=hosted.gcid, kind=AssetKind.STYLESHEET, name="a", content="<a/>")
    await parties.post(stop("Transmatics/xslt"))
    suspended = replace(hosted, suspended="unpaid" if who == "service" else "")
    changes = [build_save(house), build_save(sheet), build_save(suspended)]
    await parties.network.configuration.change("test", changes)
    assert await parties.nothing_arrives(parties.acme)
    changes = [build_save(replace(house, suspended="")), build_save(hosted)]
    await parties.network.configuration.change("test", changes)
    assert b"<ORDER>" in (await parties.arrived(parties.acme)).parts[0].data


async def test_a_removed_service_is_left_in_peace(parties: Parties, caplog: pytest.LogCaptureFixture) -> None:
    xslt = await parties.host("Transmatics/xslt", Hosting.XSLT)
    assert xslt.service is not None
    removal = DirectoryChange(kind="service", key=xslt.service.gcid, value=None)
    await parties.network.configuration.change("test", [removal])
    await parties.post()
    await parties.arrived(parties.acme)
    assert caplog.records == []


async def test_closing_gives_back_what_is_not_done_in_time(playing: Playing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_worker, "GRACE_S", 0.05)
    async with memory_network() as running:
        hosted = HostedServices(running.network, engines(UpperCase()))
        hosted.start()
        mybiz = await running.register("MyBiz/Purchasing")
        acme = await running.register("TheAcmeCompany/Supply", visibility=Visibility.PUBLIC)
        parties = Parties(running, mybiz, acme)
        player = await parties.host("Play/er", Hosting.XSLT)
        await parties.post(stop("Play/er"), topic="wait")
        await asyncio.wait_for(playing.begun.wait(), SOON_S)
        await hosted.close()
        again = await parties.arrived(player)
        assert (again.topic, again.attempt) == ("wait", 2)


class Stuck:
    """A transformer that never comes back until it is closed."""

    async def check(self, stylesheet: str) -> None: ...

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        await forever()
        return document

    async def close(self) -> None: ...


async def test_work_that_takes_too_long_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.services.hosting.runner.WORK_S", 0.05)
    monkeypatch.setattr("postroad.services.hosting.runner.RETRY_S", 300.0)
    async with memory_network() as running, run_hosted_services(running.network, engines(Stuck())):
        mybiz = await running.register("MyBiz/Purchasing")
        acme = await running.register("TheAcmeCompany/Supply", visibility=Visibility.PUBLIC)
        parties = Parties(running, mybiz, acme)
        await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "a", "<a/>"))
        session = await parties.post(stop("Transmatics/xslt"))

        async def is_given_back() -> bool:
            return "interrupted" in str(await running.network.trace(session, None))

        await eventually_async(is_given_back)
