"""Days of pushes in virtual time, to servers of every temper, while the network crashes: what must never happen does not."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    DeliveryWindow,
    Organization,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.errors import Unavailable
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.simulation.network import ConnectionLost, NetworkBuild, SimulatedNetwork
from postroad.testing.simulation.recorded_history import RecordedHistory, read_all_records
from postroad.testing.simulation.virtual_time import VirtualClock, random_for, virtual_loop

SEEDS = [int(text) for text in os.environ.get("POSTROAD_TEST_SEEDS", "1,2").split(",")]
SECOND_US = 1_000_000
DAY_S = 86_400.0
DAYS = 3
SENDER = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing")
WINDOWS = {
    "Always": ((), "UTC"),
    "Office": (
        (DeliveryWindow(days=("mon", "tue", "wed", "thu", "fri"), opens="08:00", closes="17:00"),),
        "Europe/Berlin",
    ),
    "Night": ((DeliveryWindow(opens="22:30", closes="05:15"),), "America/New_York"),
    "Twice": (
        (DeliveryWindow(opens="09:00", closes="09:20"), DeliveryWindow(opens="14:00", closes="15:00")),
        "Asia/Kolkata",
    ),
}
TEMPERS = ("prompt", "moody", "slow", "answering")
TRIES = 6


def receivers() -> dict[str, Service]:
    """One for each temper and each choice of windows, by URL."""
    found = {}
    for number, (temper, house) in enumerate((temper, house) for temper in TEMPERS for house in WINDOWS):
        windows, time_zone = WINDOWS[house]
        url = f"https://{house.lower()}.example/{temper}"
        found[url] = Service(
            gcid=f"{number + 16:016x}",
            organization=house,
            name=temper.title(),
            visibility=Visibility.PUBLIC,
            delivery=DeliveryMode.PUSH,
            push=Push(url=url, authentication=PushAuthentication.NONE, tries=TRIES),
            windows=windows,
            time_zone=time_zone,
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Seen:
    at_us: int
    service: Service
    id: str
    delivered: Delivered


@dataclass
class Servers:
    """The services' servers, which outlive every crash of the network."""

    clock: VirtualClock
    chance: Random
    services: dict[str, Service]
    seen: list[Seen] = field(default_factory=list)
    yes: asyncio.Event = field(default_factory=asyncio.Event)
    yes_us: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # when each id was said yes to

    async def push(self, request: PushRequest) -> PushAnswer:
        service = self.services[request.url]
        [delivered] = JSON_FORM.decode_delivered(request.body)
        webhook_id = request.headers["webhook-id"]
        self.seen.append(Seen(at_us=self.clock.now_us(), service=service, id=webhook_id, delivered=delivered))
        try:
            async with asyncio.timeout(request.timeout_s):
                answer = await self._answer(service, delivered)
        except TimeoutError:
            return PushAnswer(status=None, fault=make_reason("other", detail="no answer in time"))
        if answer.status in (200, 204):
            self.yes_us[webhook_id].append(self.clock.now_us())
            self.yes.set()
        return answer

    async def close(self) -> None: ...

    async def _answer(self, service: Service, delivered: Delivered) -> PushAnswer:
        await asyncio.sleep(self.chance.uniform(0.001, 0.3))
        if service.name == "Moody" and self.chance.random() < 0.5:
            return self.chance.choice(
                [PushAnswer(status=500), PushAnswer(status=429, retry_after_s=120.0), PushAnswer(status=301)]
            )
        if service.name == "Slow":
            await asyncio.sleep(self.chance.expovariate(1 / 10.0))
        if service.name == "Answering" and delivered.type is MessageType.REQUEST:
            body = JSON_FORM.encode_post(Message(type=MessageType.RESPONSE))
            return PushAnswer(status=200, content_type="application/json", body=body)
        return PushAnswer(status=204)


class Run:
    """Some days of a network, its servers and a sender."""

    def __init__(self, seed: int) -> None:
        self.loop = virtual_loop(random_for(seed, "order"))
        clock = VirtualClock(self.loop)
        self.services = receivers()
        self.servers = Servers(clock, random_for(seed, "servers"), self.services)
        self.chance = random_for(seed, "sender")
        self.network = SimulatedNetwork(
            self.loop, random_for(seed, "network"), NetworkBuild(pusher=lambda: self.servers)
        )
        self.crashes_us: list[int] = []
        self.is_down = False
        self.books = RecordedHistory([])

    def play(self) -> None:
        self.loop.run_until_complete(self._play())

    async def _play(self) -> None:
        await self.network.start()
        houses = [Organization(name=name) for name in ("MyBiz", *WINDOWS)]
        changes = [build_save(item) for item in (*houses, SENDER, *self.services.values())]
        await self.network.ask(lambda network: network.configuration.change("test", changes))
        crashing = self.loop.create_task(self._crash_now_and_then(), name="crashes")
        while self.loop.time() < DAYS * DAY_S:
            await self._post()
            await asyncio.sleep(self.chance.expovariate(1 / 400.0))
        crashing.cancel()
        if self.is_down:
            await self.network.start()
        await asyncio.sleep(3 * DAY_S)  # everything comes to its end
        self.books = RecordedHistory(await read_all_records(self.network.journal))

    async def _post(self) -> None:
        service = self.chance.choice(list(self.services.values()))
        expires_us = self.network.clock.now_us() + int(self.chance.choice((600, 20_000, 100_000)) * SECOND_US)
        message = Message(
            to=(Recipient(service.address),),
            type=self.chance.choice((MessageType.NOTIFICATION, MessageType.REQUEST)),
            expires_at_us=expires_us,
            parts=(Part(id="1", content_type="text/plain", data=b"hello"),),
        )
        sender = Caller(service=SENDER, level=AuthenticationLevel.KEY)

        async def question(network: Network) -> object:
            return await network.post(sender, message)

        try:
            await self.network.ask(question)
        except (ConnectionLost, Unavailable):  # accepted or not, the journal knows
            return

    async def _crash_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self.chance.expovariate(1 / 5_000.0))
            if self.servers.seen and self.chance.random() < 0.7:  # around the moment in which a yes is written down
                self.servers.yes.clear()
                await self.servers.yes.wait()
                await asyncio.sleep(self.chance.choice((0.0, 0.001, 0.005, 0.02)))
            self.crashes_us.append(self.network.clock.now_us())
            self.network.crash(index_lost=self.chance.random() < 0.2)
            self.is_down = True
            await asyncio.sleep(self.chance.uniform(0.1, 300.0))
            await self.network.start()
            self.is_down = False


@pytest.fixture(scope="module", params=SEEDS)
def run(request: pytest.FixtureRequest) -> Run:
    run = Run(request.param)
    run.play()
    print(f"{len(run.servers.seen)} pushes, {len(run.crashes_us)} crashes, {len(run.books.legs)} deliveries")
    assert run.loop.failures == []
    assert len(run.crashes_us) > 10
    assert len(run.servers.seen) > 300
    return run


def is_open(service: Service, at_us: int) -> bool:
    """The plainest reading of windows; no clock is set in these days."""
    wall = datetime.fromtimestamp(at_us / SECOND_US, UTC).astimezone(ZoneInfo(service.time_zone))
    shown, day = f"{wall:%H:%M}", f"{wall:%a}".lower()
    for window in service.windows:
        if window.opens < window.closes and window.opens <= shown < window.closes and day in window.days:
            return True
        if window.opens > window.closes and (shown >= window.opens or shown < window.closes):
            return True
    return not service.windows


@pytest.mark.req("D4")
def test_nothing_is_pushed_outside_its_windows_or_after_its_time(run: Run) -> None:
    for one in run.servers.seen:
        assert is_open(one.service, one.at_us), one
        assert one.at_us < one.delivered.expires_at_us


@pytest.mark.req("D3")
def test_an_id_is_one_delivery_and_comes_again_after_a_yes_only_where_the_network_died(run: Run) -> None:
    tokens = {(one.id, one.delivered.token) for one in run.servers.seen}
    assert (
        len(tokens)
        == len({one.id for one in run.servers.seen})
        == len({one.delivered.token for one in run.servers.seen})
    )
    repeated = 0
    for webhook_id, yes_us in run.servers.yes_us.items():
        again = [one.at_us for one in run.servers.seen if one.id == webhook_id and one.at_us > yes_us[0]]
        crashes = [at_us for at_us in run.crashes_us if yes_us[0] <= at_us]
        assert len(again) <= len(crashes)
        if again:
            repeated += 1
            assert min(crashes) <= again[0]
    print(f"{repeated} repeated after a yes, {len(run.crashes_us)} crashes")
    assert repeated > 0, "no crash fell between a yes and its entry; this run says nothing"


@pytest.mark.req("D3")
def test_everything_comes_to_the_end_that_its_receiver_saw(run: Run) -> None:
    pushed = {leg.recipient: leg for leg in run.books.legs.values()}
    assert pushed
    services = {service.gcid for service in run.services.values()}
    yes = {one.delivered.token.partition(".")[0] for one in run.servers.seen if one.id in run.servers.yes_us}
    for leg in run.books.legs.values():
        if leg.recipient not in services:
            continue
        assert leg.state in (DeliveryState.DELIVERED, DeliveryState.EXPIRED, DeliveryState.FAILED)
        if leg.state is DeliveryState.DELIVERED:
            assert f"{leg.number:x}" in yes
        assert len(leg.leases) <= 20
