"""Who sees what a message consisted of at which stop: the sender, the stop's own people, and whoever included it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Visibility
from postroad.core.model.journal import AccessRecorded, decode
from postroad.core.model.message import Message, MessageType, Part, Recipient, Status
from postroad.core.model.polling import PollRequest
from postroad.core.visibility.pseudonyms import is_pseudonym
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import list_parts_at_stop, read_part, read_part_at_stop
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

PARTS = (
    Part(id="open", content_type="text/plain", data=b"anybody"),
    Part(id="secret", content_type="text/plain", data=b"not for Postcard"),
)
PUBLIC = {"visibility": Visibility.PUBLIC}


class House:
    """Sender → Postcard (may not read ``secret``) → Stamp (included by Postcard) → Guard (kept by Acme to itself) → Acme."""

    def __init__(self, running: MemoryNetwork) -> None:
        self.running = running
        self.network = running.network
        self.services: dict[str, Caller] = {}
        self.session = ""
        self.known: dict[str, str] = {}  # the session as each was told it
        self.deliveries: dict[str, int] = {}
        self.traces: dict[str, list[str]] = {}  # what each was told when it polled

    async def furnish(self) -> None:
        withheld = (DocumentAccess(service="Postcard", read=("open",), change=("open",)),)
        self.services["Sender"] = await self.running.register("Sender/Out", document_access=withheld)
        for name in ("Postcard", "Stamp", "Guard", "Acme"):
            self.services[name] = await self.running.register(f"{name}/In", **PUBLIC)
        await self.rule("Postcard", {"addServiceAfter": "Stamp/In"})
        await self.rule("Acme", {"addServiceBefore": "Guard/In", "isolate": True})

    async def rule(self, name: str, action: dict[str, object]) -> None:
        owner = self.services[name].service
        assert owner is not None
        entry = RuleEntry.model_validate({"name": "r", "when": "always", "then": [action]})
        await self.network.configuration.change("test", [build_save(rule_of(entry, owner.gcid, 0))])

    async def travel(self) -> None:
        message = Message(handle="h-1", to=(Recipient("Acme/In"),), route=(Recipient("Postcard/In"),), parts=PARTS)
        self.session = (await self.network.post(self.services["Sender"], message)).session
        for name in ("Postcard", "Stamp", "Guard", "Acme"):
            [delivered] = await self.network.poll(self.services[name], PollRequest(max=1, trace=True))
            self.known[name] = delivered.session
            self.traces[name] = [stop.service for stop in delivered.trace]
            if delivered.recipient != "Acme/In":
                answer = Message(type=MessageType.RESPONSE, reference=delivered.token)
                await self.network.post(self.services[name], answer)
        history = await self.network.trace(self.session, None)
        assert history is not None
        self.deliveries = {
            stop.service.partition("/")[0]: stop.delivery for stop in history.messages[0].copies[0].stops
        }

    async def seen(self, viewer: Caller, session: str, stop: str) -> list[str] | None:
        """Ids of the parts that the viewer sees at a stop; None where it does not even see the stop."""
        number = self.deliveries[stop]
        known = self.network.tokens.pseudonyms.number(number) if is_pseudonym(session) else number
        try:
            parts = await list_parts_at_stop(self.network, viewer, session, known)
        except Refused as refusal:
            if refusal.code != "not-found":
                raise
            return None
        return [one.id for one in parts]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with memory_network() as running:
        furnished = House(running)
        await furnished.furnish()
        await furnished.travel()
        yield furnished


ALL = ["open", "secret"]
SEEN: dict[str, dict[str, list[str] | None]] = {
    "Sender": {"Postcard": ["open"], "Stamp": ALL, "Guard": None, "Acme": ALL},
    "Postcard": {"Postcard": ["open"], "Stamp": ["open"], "Guard": None, "Acme": None},
    "Stamp": {"Postcard": None, "Stamp": ALL, "Guard": None, "Acme": None},
    "Guard": {"Postcard": None, "Stamp": None, "Guard": ALL, "Acme": None},
    "Acme": {"Postcard": None, "Stamp": None, "Guard": ALL, "Acme": ALL},
}


@pytest.mark.req("N5", "Z5", "R12")
@pytest.mark.parametrize("viewer", SEEN)
async def test_each_sees_at_each_stop_what_it_may(house: House, viewer: str) -> None:
    person = await house.running.enroll(f"p@{viewer.casefold()}.example", organization=viewer)
    for asking in (house.services[viewer], person):
        session = house.known.get(viewer, house.session)
        assert {stop: await house.seen(asking, session, stop) for stop in house.deliveries} == SEEN[viewer]


@pytest.mark.req("R12", "Z5")
async def test_one_that_is_isolated_does_not_know_the_message_by_the_name_that_others_know(house: House) -> None:
    assert house.known["Guard"] != house.session
    assert house.known["Stamp"] == house.known["Acme"] == house.session
    guard = house.services["Guard"]
    assert await house.seen(guard, house.session, "Guard") is None
    with pytest.raises(Refused, match="not-found"):
        await load_history(house.network, guard, house.session)
    [told] = (await load_history(house.network, guard, house.known["Guard"])).messages
    assert (told.session, told.seq, told.at_us % 1_000_000) == (house.known["Guard"], 0, 0)
    shown = told.copies[0].stops[0].delivery
    assert shown != house.deliveries["Guard"]
    assert [one.id for one in await list_parts_at_stop(house.network, guard, told.session, shown)] == ALL
    [same] = (await load_history(house.network, house.services["Sender"], house.known["Guard"])).messages
    assert same.session == house.session, "whoever may see the message finds it by either name"


TOLD = {
    "Sender": ["Postcard/In", "Stamp/In", "Acme/In"],
    "Postcard": ["Postcard/In", "Stamp/In"],
    "Stamp": ["Stamp/In"],
    "Guard": ["Guard/In"],
    "Acme": ["Guard/In", "Acme/In"],
}


@pytest.mark.req("Z5", "R12")
@pytest.mark.parametrize("viewer", TOLD)
async def test_the_history_tells_each_of_the_stops_that_it_sees(house: House, viewer: str) -> None:
    person = await house.running.enroll(f"p@{viewer.casefold()}.example", organization=viewer)
    for asking in (house.services[viewer], person):
        [message] = (await load_history(house.network, asking, house.known.get(viewer, house.session))).messages
        [copy] = message.copies
        assert [stop.service for stop in copy.stops] == TOLD[viewer]
        isolated = viewer == "Guard"
        assert (message.sender, message.handle) == (("Acme/In", "") if isolated else ("Sender/Out", "h-1"))


@pytest.mark.req("M2", "Z5")
async def test_a_poll_tells_of_the_stops_before_but_for_those_that_are_kept_from_the_receiver(house: House) -> None:
    assert house.traces == {
        "Postcard": [],
        "Stamp": ["Postcard/In"],
        "Guard": [],
        "Acme": ["Postcard/In", "Stamp/In", "Guard/In"],
    }


@pytest.mark.req("M2", "R12")
async def test_a_poll_tells_of_absorbed_errors_and_of_nothing_when_not_asked() -> None:
    async with memory_network() as running:
        sender, vain = await running.register("Sender/Out"), await running.register("Vain/Try", **PUBLIC)
        house = House(running)
        house.services = {"Sender": sender, "Acme": await running.register("Acme/In", **PUBLIC)}
        await house.rule("Sender", {"addServiceAfter": "Vain/Try", "errors": "absorb"})
        for asked in (True, False):
            await running.network.post(sender, Message(to=(Recipient("Acme/In"),), parts=PARTS))
            [delivered] = await running.network.poll(vain, PollRequest())
            failed = Message(type=MessageType.RESPONSE, reference=delivered.token, status=Status("sold-out", "sorry"))
            await running.network.post(vain, failed)
            [arrived] = await running.network.poll(house.services["Acme"], PollRequest(trace=asked))
            told = [(stop.service, stop.status) for stop in arrived.trace]
            assert told == ([("Vain/Try", Status("sold-out", "sorry"))] if asked else [])


@pytest.mark.req("R12", "Z5")
async def test_the_list_of_received_messages_keeps_the_sender_from_one_that_is_isolated(house: House) -> None:
    directory = house.network.directory
    for viewer, told in (("Guard", ("Acme/In", "")), ("Acme", ("Sender/Out", "h-1"))):
        [row] = (await browse(house.network, house.services[viewer], MessageSearch(box="received"))).rows
        assert (directory.services[row["message"].sender].address, row["message"].handle) == told


@pytest.mark.req("N5", "Z5")
async def test_a_withheld_document_is_not_to_be_had_in_any_way(house: House) -> None:
    postcard = house.services["Postcard"]
    for stop in ("Postcard", "Stamp"):
        with pytest.raises(Refused, match="not-found"):
            await read_part_at_stop(house.network, postcard, house.session, house.deliveries[stop], "secret")
    with pytest.raises(Refused, match="not-found"):
        await read_part(house.network, postcard, house.session, "secret")
    assert (await read_part(house.network, postcard, house.session, "open")).data == b"anybody"
    assert (await read_part(house.network, house.services["Acme"], house.session, "secret")).data == PARTS[1].data


async def test_a_look_of_a_person_is_on_record_and_operators_do_not_look(house: House) -> None:
    person = await house.running.enroll("p@acme.example", organization="Acme")
    operator = await house.running.enroll("op@example.org", operator=True)
    number = house.deliveries["Acme"]
    assert (await read_part_at_stop(house.network, person, house.session, number, "open")).data == b"anybody"
    assert await house.seen(operator, house.session, "Acme") is None
    records = (await house.network.journal.read(0, 1 << 30)).records
    looks = [entry for entry in (decode(record.facts) for record in records) if isinstance(entry, AccessRecorded)]
    assert [(look.by, look.what, look.detail) for look in looks] == [
        ("p@acme.example", "payload.read", f"{house.session} {number} open")
    ]


async def test_a_delivery_is_found_under_its_own_message_only(house: House) -> None:
    other = await house.network.post(house.services["Sender"], Message(to=(Recipient("Acme/In"),), parts=PARTS))
    for session, number in ((other.session, house.deliveries["Acme"]), (house.session, 1 << 70), (house.session, 7)):
        with pytest.raises(Refused, match="not-found"):
            await list_parts_at_stop(house.network, house.services["Sender"], session, number)
