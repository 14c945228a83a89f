"""The network runs its own services: over the real stages in memory, with nothing but the transformer played."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.directory import DocumentAccess, Organization
from postroad.core.model.message import Delivered, MessageType
from postroad.errors import Unavailable
from postroad.services.catalogue import CATALOGUE
from postroad.services.hosting import mailbox_worker
from postroad.services.hosting.hosted_services import HostedServices
from postroad.services.hosting.mailbox_worker import AT_ONCE
from postroad.services.hosting.runner import AT_A_TIME
from postroad.services.service import ServiceResult, Tools
from tests.samples.hosting_scenario import BUYER, ORDER, SOON_S, STYLESHEET, SUPPLY, XSLT, HostingScenario, stop
from tests.samples.service_tools import UpperCase, document, engines
from tests.waiting import eventually_async, forever


@pytest.fixture
async def scenario() -> AsyncIterator[HostingScenario]:
    async with HostingScenario() as scenario:
        yield scenario


@pytest.mark.req("S1")
@pytest.mark.req("S2")
async def test_hosted_services_work_on_a_message_one_after_the_other(scenario: HostingScenario) -> None:
    await scenario.host(XSLT, Hosting.XSLT, (AssetKind.STYLESHEET, "capitals", "<capitals/>"))
    await scenario.host("XpandiCo/zipPlus4", Hosting.LOOKUP, (AssetKind.TABLE, "zips", "zip,plus4\n62701,62701-1234\n"))
    await scenario.send(stop("XpandiCo/zipPlus4", element="//Zip"), stop(XSLT, stylesheet="capitals"))
    request = await scenario.arrived(SUPPLY)
    assert b"<ZIP>62701-1234</ZIP>" in request.parts[0].data
    assert (request.parts[0].id, request.parts[0].content_type) == ("1", "application/xml")


async def test_a_notification_passes_too_and_one_that_ends_there_is_acknowledged(scenario: HostingScenario) -> None:
    xslt = await scenario.host(XSLT, Hosting.XSLT, STYLESHEET)
    await scenario.send(stop(XSLT), type=MessageType.NOTIFICATION)
    assert b"<ORDER>" in (await scenario.arrived(SUPPLY)).parts[0].data
    session = await scenario.send(to=XSLT, type=MessageType.NOTIFICATION)

    async def is_acknowledged() -> bool:
        return "acknowledged" in str(await scenario.history(session))

    await eventually_async(is_acknowledged)
    assert await scenario.nothing_arrives(xslt)


class Hanging(UpperCase):
    """One that takes its time over some documents."""

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        if b"hang" in document:
            await asyncio.sleep(SOON_S)  # sleeps: longer than the others may take
        return await super().transform(stylesheet, document, parameters)


@pytest.mark.req("Z3", "D8")
async def test_hanging_work_of_one_organization_does_not_stop_services_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mailbox_worker, "GRACE_S", 0.0)
    async with HostingScenario(engines(Hanging())) as scenario:
        for number in range(AT_A_TIME // AT_ONCE):
            await scenario.host(f"Slow/xslt {number}", Hosting.XSLT, STYLESHEET)
            for _ in range(AT_ONCE):
                await scenario.send(to=f"Slow/xslt {number}", part=document("<hang/>"))
        await scenario.host("Quick/xslt", Hosting.XSLT, STYLESHEET)
        await scenario.send(to="Quick/xslt")
        answered = await scenario.receive(BUYER, wait_s=20.0)  # sooner than one that hangs is over
        assert answered.sender == "Quick/xslt"


async def test_a_hosted_service_can_be_asked_directly(scenario: HostingScenario) -> None:
    await scenario.host(XSLT, Hosting.XSLT, STYLESHEET)
    response = await scenario.ask(XSLT, stylesheet="a")
    assert (response.type, response.status) == (MessageType.RESPONSE, None)
    assert response.parts[0].data == ORDER.data.upper()
    refused = await scenario.ask(XSLT, stylesheet="none")
    assert refused.status is not None
    assert refused.status.code == "not-found"


@pytest.mark.req("S4")
async def test_a_filter_ends_the_route_of_unwelcome_senders(scenario: HostingScenario) -> None:
    await scenario.host("KeepEmOut/filter", Hosting.FILTER, (AssetKind.LIST, "welcome", '{"allow": ["Friends"]}'))
    await scenario.send(stop("KeepEmOut/filter", list="welcome"))
    response = await scenario.arrived(BUYER)
    assert response.status is not None
    assert "MyBiz/Purchasing" in response.status.text
    assert await scenario.nothing_arrives(SUPPLY)
    await scenario.service("Friends/Shop")
    await scenario.post("Friends/Shop", SUPPLY, route=["KeepEmOut/filter"], parts=(ORDER,))
    assert (await scenario.arrived(SUPPLY)).parts == (ORDER,)


@pytest.mark.req("S3")
async def test_keys_are_related_by_message_and_exchanged_in_transit(scenario: HostingScenario) -> None:
    content = json.dumps({"services": ["MyBiz", "TheAcmeCompany"]})
    await scenario.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "customers", content))
    put = {"operation": "put", "keyName": "number", "keyValue": "3489", "name": "Bits"}
    assert (await scenario.ask("Transmatics/xref", **put)).status is None
    related = await scenario.ask(
        "Transmatics/xref", operation="relate", keyName="number", keyValue="3489",
        otherService="TheAcmeCompany/Supply", otherKeyName="id", otherKeyValue="BX0045012",
    )  # fmt: skip
    assert (related.status, related.parts) == (None, ())
    await scenario.send(
        stop("Transmatics/xref", operation="replaceElement", element="//CustomerNumber", keyName="number")
    )
    assert b"<CustomerNumber>BX0045012<" in (await scenario.arrived(SUPPLY)).parts[0].data
    answer = await scenario.ask("Transmatics/xref", operation="query", keyName="number", keyValue="3489")
    assert [(one["service"], one["pairs"]) for one in json.loads(answer.parts[0].data)["records"]] == [
        ("MyBiz/Purchasing", {"name": "Bits"}),  # being related took nothing from it
        ("TheAcmeCompany/Supply", {}),
    ]


@pytest.mark.req("S3")
@pytest.mark.req("R13")
async def test_a_watched_response_comes_back_through_the_service_and_relates_the_keys(
    scenario: HostingScenario,
) -> None:
    content = json.dumps({"services": ["MyBiz", "TheAcmeCompany"]})
    await scenario.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "customers", content), returns=True)
    watching = stop(
        "Transmatics/xref", operation="watch", element="//CustomerNumber", keyName="number",
        responseElement="//Customer/@id", responseKeyName="id",
    )  # fmt: skip
    await scenario.send(watching)
    request = await scenario.receive(SUPPLY, wait_s=SOON_S)
    confirmation = document('<Confirmation><Customer id="BX0045012"/></Confirmation>')
    await scenario.respond(request, parts=(confirmation,))
    assert (await scenario.arrived(BUYER)).parts == (confirmation,)
    await scenario.send(
        stop("Transmatics/xref", operation="replaceElement", element="//CustomerNumber", keyName="number")
    )
    assert b"<CustomerNumber>BX0045012<" in (await scenario.arrived(SUPPLY)).parts[0].data


@pytest.mark.req("N5")
async def test_a_document_that_the_sender_withholds_comes_back_untouched(scenario: HostingScenario) -> None:
    await scenario.host(XSLT, Hosting.XSLT, STYLESHEET)
    access = DocumentAccess(service=XSLT, read=("open",), change=("open",))
    await scenario.change(BUYER, document_access=(access,))
    parts = (document("<open/>", "open"), document("<secret/>", "secret"))
    await scenario.post(BUYER, SUPPLY, route=[XSLT], parts=parts)
    assert [part.data for part in (await scenario.arrived(SUPPLY)).parts] == [b"<OPEN/>", b"<secret/>"]


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


async def test_a_message_that_breaks_the_service_does_not_affect_others(
    scenario: HostingScenario, playing: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    await scenario.host("Play/er", Hosting.XSLT)
    with caplog.at_level(logging.INFO):
        await scenario.send(stop("Play/er"), topic="poison")
        await scenario.send(stop("Play/er"), topic="fine")
        assert (await scenario.arrived(SUPPLY)).topic == "fine"
        response = await scenario.arrived(BUYER)
    assert response.status is not None
    assert "service.failed" in response.status.text + response.status.code
    assert "KeyError in test_hosting.py" in caplog.text
    assert "what the message says" not in caplog.text


async def test_work_that_fails_for_now_is_tried_again(scenario: HostingScenario, playing: Playing) -> None:
    await scenario.host("Play/er", Hosting.XSLT)
    await scenario.send(stop("Play/er"), topic="away")
    assert (await scenario.arrived(SUPPLY)).topic == "away"


async def test_a_service_works_on_a_limited_number_of_messages_at_once(
    scenario: HostingScenario, playing: Playing
) -> None:
    await scenario.host("Play/er", Hosting.XSLT)
    await scenario.host("Play/two", Hosting.LOOKUP, (AssetKind.TABLE, "zips", "zip,plus4\n62701,x\n"))
    for _ in range(AT_ONCE * 2):
        await scenario.send(stop("Play/er"), topic="wait")
    await asyncio.wait_for(playing.begun.wait(), SOON_S)
    await scenario.send(stop("Play/two", element="//Zip"), topic="other")
    assert (await scenario.arrived(SUPPLY)).topic == "other"  # others are not kept waiting
    assert playing.most == AT_ONCE
    playing.go_on.set()
    for _ in range(AT_ONCE * 2):
        assert (await scenario.arrived(SUPPLY)).topic == "wait"
    assert playing.most == AT_ONCE


async def test_a_service_is_run_as_soon_and_as_long_as_it_is_hosted(scenario: HostingScenario) -> None:
    await scenario.host(XSLT, Hosting.NONE, STYLESHEET)
    await scenario.send(stop(XSLT))
    assert await scenario.nothing_arrives(SUPPLY)
    await scenario.change(XSLT, hosted=Hosting.XSLT)
    assert b"<ORDER>" in (await scenario.arrived(SUPPLY)).parts[0].data
    await scenario.change(XSLT, hosted=Hosting.NONE)
    await scenario.send(stop(XSLT))
    assert await scenario.nothing_arrives(SUPPLY)


async def test_a_changed_profile_holds_for_the_next_message(scenario: HostingScenario) -> None:
    await scenario.host("Transmatics/xref", Hosting.CROSSREFERENCE, (AssetKind.MAP, "a", '{"services": "*"}'))
    query = {"keyName": "number", "keyValue": "1"}
    unsaid = await scenario.ask("Transmatics/xref", **query)
    assert unsaid.status is not None
    assert "operation" in unsaid.status.text
    await scenario.change("Transmatics/xref", operations=("query",))
    assert (await scenario.ask("Transmatics/xref", **query)).status is None


@pytest.mark.parametrize("who", ["service", "organization"])
async def test_messages_of_a_suspended_service_wait(scenario: HostingScenario, who: str) -> None:
    await scenario.host(XSLT, Hosting.NONE, STYLESHEET)
    await scenario.send(stop(XSLT))
    organization = Organization(name="Transmatics", suspended="unpaid" if who == "organization" else "")
    service = replace(scenario.profile(XSLT), hosted=Hosting.XSLT)
    await scenario.save(organization, replace(service, suspended="unpaid" if who == "service" else ""))
    assert await scenario.nothing_arrives(SUPPLY)
    await scenario.save(replace(organization, suspended=""), service)
    assert b"<ORDER>" in (await scenario.arrived(SUPPLY)).parts[0].data


async def test_a_removed_service_is_no_longer_run(scenario: HostingScenario, caplog: pytest.LogCaptureFixture) -> None:
    await scenario.host(XSLT, Hosting.XSLT)
    await scenario.remove(XSLT)
    await scenario.send()
    await scenario.arrived(SUPPLY)
    assert caplog.records == []


async def test_closing_gives_back_what_is_not_done_in_time(playing: Playing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_worker, "GRACE_S", 0.05)
    async with HostingScenario(runs=False) as scenario:
        hosted = HostedServices(scenario.network, engines(UpperCase()))
        hosted.start()
        player = await scenario.host("Play/er", Hosting.XSLT)
        await scenario.send(stop("Play/er"), topic="wait")
        await asyncio.wait_for(playing.begun.wait(), SOON_S)
        await hosted.close()
        again = await scenario.arrived(player)
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
    async with HostingScenario(engines(Stuck())) as scenario:
        await scenario.host(XSLT, Hosting.XSLT, STYLESHEET)
        session = await scenario.send(stop(XSLT))

        async def is_given_back() -> bool:
            return "interrupted" in str(await scenario.history(session))

        await eventually_async(is_given_back)
