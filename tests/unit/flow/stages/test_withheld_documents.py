"""Documents that a sender withholds from a service: nor do those get them who stand in its place, or whom it keeps to itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Service, Visibility
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.administration.base import build_removal
from postroad.flow.administration.messages.contents import list_parts_at_stop
from postroad.flow.administration.messages.message_list import load_history
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

PARTS = tuple(Part(id=name, content_type="text/plain", data=b"as posted") for name in ("open", "secret"))


def service_of(caller: Caller) -> Service:
    assert caller.service is not None
    return caller.service


class House:
    """Sender/Out names Postcard/In on the way to Acme/In, and withholds ``secret`` from Postcard."""

    def __init__(self, running: MemoryNetwork) -> None:
        self.running, self.network = running, running.network
        self.services: dict[str, Caller] = {}

    async def furnish(self) -> None:
        withheld = (DocumentAccess(service="Postcard", read=("open",), change=("open",)),)
        self.services["Sender"] = await self.running.register("Sender/Out", document_access=withheld)
        for name in ("Postcard", "Friend", "Other", "Acme"):
            self.services[name] = await self.running.register(f"{name}/In", visibility=Visibility.PUBLIC)

    async def rule(self, name: str, action: dict[str, object], role: str = "any", when: object = "always") -> None:
        entry = RuleEntry.model_validate({"name": "r", "when": when, "role": role, "then": [action]})
        owner = service_of(self.services[name])
        await self.network.configuration.change("test", [build_save(rule_of(entry, owner.gcid, 0))])

    async def change(self, name: str, **profile: object) -> None:
        known = service_of(self.services[name])
        await self.network.configuration.change("test", [build_save(replace(known, **profile))])  # type: ignore[arg-type]

    async def post(self, type_: MessageType = MessageType.NOTIFICATION) -> None:
        message = Message(type=type_, to=(Recipient("Acme/In"),), route=(Recipient("Postcard/In"),), parts=PARTS)
        await self.network.post(self.services["Sender"], message)

    async def given(self, name: str) -> Delivered:
        [delivered] = await self.network.poll(self.services[name], PollRequest())
        return delivered

    async def answer(self, name: str, delivered: Delivered, *parts: Part) -> None:
        answer = Message(type=MessageType.RESPONSE, reference=delivered.token, parts=parts)
        await self.network.post(self.services[name], answer)

    async def seen_afterwards(self, name: str, delivered: Delivered) -> list[str]:
        """Which documents the service finds in the records of what it was given."""
        told = (await load_history(self.network, self.services[name], delivered.session)).messages[0]
        stop = told.copies[0].stops[0].delivery
        parts = await list_parts_at_stop(self.network, self.services[name], delivered.session, stop)
        return [one.id for one in parts]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with memory_network() as running:
        furnished = House(running)
        await furnished.furnish()
        yield furnished


def ids(delivered: Delivered) -> list[str]:
    return [part.id for part in delivered.parts]


@pytest.mark.req("N5")
@pytest.mark.parametrize("action", [
    {"redirect": "Friend/In"},
    {"redirect": "Friend/In", "isolate": True},
    {"addServiceBefore": "Friend/In", "isolate": True},
])  # fmt: skip
async def test_who_stands_in_its_place_or_is_kept_by_it_gets_no_more_than_it(
    house: House, action: dict[str, object]
) -> None:
    await house.rule("Postcard", action)
    await house.post()
    given = await house.given("Friend")
    assert ids(given) == ["open"]
    assert await house.seen_afterwards("Friend", given) == ["open"]
    with pytest.raises(Refused, match=r"document\.read-only"):
        await house.answer("Friend", given, Part(id="secret", content_type="text/plain", data=b"guessed"))
    await house.answer("Friend", given, Part(id="open", content_type="text/plain", data=b"changed"))
    if "addServiceBefore" in action:
        await house.answer("Postcard", await house.given("Postcard"))
    arrived = await house.given("Acme")
    assert {part.id: part.data for part in arrived.parts} == {"open": b"changed", "secret": b"as posted"}


@pytest.mark.req("N5")
@pytest.mark.parametrize("hides", [False, True])
async def test_nor_does_anybody_further_behind_it(house: House, hides: bool) -> None:
    for name, target in (("Postcard", "Friend"), ("Friend", "Other")):
        await house.rule(name, {"redirect": f"{target}/In", "isolate": hides})
    await house.post()
    given = await house.given("Other")
    assert ids(given) == ["open"]
    assert await house.seen_afterwards("Other", given) == ["open"]


@pytest.mark.req("N5")
async def test_nor_its_rules_look_into_what_it_is_not_given(house: House) -> None:
    await house.rule("Postcard", {"redirect": "Friend/In"})
    when = {"equals": {"header": "documents.id", "value": "secret"}}
    await house.rule("Friend", {"addServiceBefore": "Other/In"}, when=when)
    await house.post()
    assert await house.network.poll(house.services["Other"], PollRequest()) == []
    assert ids(await house.given("Friend")) == ["open"]


@pytest.mark.req("N5")
async def test_what_it_may_look_at_of_others_is_no_more_either(house: House) -> None:
    """Friend stands in Postcard's place, and brings Other in, openly: the sender can name that one, and has not."""
    await house.rule("Postcard", {"redirect": "Friend/In"})
    await house.rule("Friend", {"addServiceBefore": "Other/In"})
    await house.post()
    given = await house.given("Other")
    assert ids(given) == ["open", "secret"]
    number = house.network.tokens.number(given.token) or 0
    looked = await list_parts_at_stop(house.network, house.services["Friend"], given.session, number)
    assert [part.id for part in looked] == ["open"]


@pytest.mark.req("N5")
async def test_whom_the_recipient_keeps_to_itself_is_given_what_the_recipient_is(house: House) -> None:
    """Also where the recipient's house is one from which documents are withheld on the way to others."""
    await house.rule("Postcard", {"addServiceBefore": "Friend/In", "isolate": True}, role="recipient")
    await house.network.post(house.services["Sender"], Message(to=(Recipient("Postcard/In"),), parts=PARTS))
    assert ids(await house.given("Friend")) == ["open", "secret"]


@pytest.mark.req("N5")
async def test_who_stands_behind_somebody_that_is_gone_is_given_nothing(house: House) -> None:
    await house.rule("Postcard", {"redirect": "Friend/In", "isolate": True})
    await house.post()
    postcard = service_of(house.services["Postcard"])
    rules = [build_removal(rule) for rule in house.network.directory.rules_of(postcard.gcid)]
    await house.network.configuration.change("test", [build_removal(postcard), *rules])
    assert ids(await house.given("Friend")) == []


@pytest.mark.req("N5", "R13")
async def test_the_same_holds_on_the_way_back(house: House) -> None:
    """The responder withholds from Postcard, in whose place Friend sees what comes back."""
    await house.rule("Postcard", {"redirect": "Friend/In"})
    await house.change("Acme", document_access=(DocumentAccess(service="Postcard", read=("open",)),))
    await house.change("Friend", returns=True)
    await house.post(MessageType.REQUEST)
    await house.answer("Friend", await house.given("Friend"))
    await house.answer("Acme", await house.given("Acme"), *PARTS)
    assert ids(await house.given("Friend")) == ["open"]
