"""Who sees what a message consisted of at which stop: the sender, the stop's own people, and whoever included it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Visibility
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.message import Part, Status
from postroad.core.visibility.pseudonyms import is_pseudonym
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import list_parts_at_stop, read_part, read_part_at_stop
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.testing import Scenario

PARTS = (
    Part(id="open", content_type="text/plain", data=b"anybody"),
    Part(id="secret", content_type="text/plain", data=b"not for Postcard"),
)


class Journey(Scenario):
    """Sender → Postcard (may not read ``secret``) → Stamp (included by Postcard) → Guard (isolated by Acme) → Acme."""

    session = ""
    known: dict[str, str]  # the session as each service knows it
    deliveries: dict[str, int]
    traces: dict[str, list[str]]  # the trace that each service got when it polled

    async def travel(self) -> None:
        withheld = (DocumentAccess(service="Postcard", read=("open",), change=("open",)),)
        await self.service("Sender/Out", document_access=withheld, visibility=Visibility.PRIVATE)
        for name in ("Postcard", "Stamp", "Guard", "Acme"):
            await self.service(f"{name}/In")
        await self.rule("Postcard/In", {"addServiceAfter": "Stamp/In"})
        await self.rule("Acme/In", {"addServiceBefore": "Guard/In", "isolate": True})
        posted = await self.post("Sender/Out", "Acme/In", route=["Postcard/In"], parts=PARTS, handle="h-1")
        self.session, self.known, self.traces = posted.session, {}, {}
        for name in ("Postcard", "Stamp", "Guard", "Acme"):
            delivered = await self.receive(f"{name}/In", trace=True)
            self.known[name] = delivered.session
            self.traces[name] = [stop.service for stop in delivered.trace]
            if name != "Acme":
                await self.respond(delivered)
        self.deliveries = {stop.service.partition("/")[0]: stop.delivery for stop in await self.stops(posted)}

    async def seen(self, viewer: Caller, session: str, stop: str) -> list[str] | None:
        """Return the ids of the parts that the viewer sees at a stop; None if it does not even see the stop."""
        number = self.deliveries[stop]
        known = self.network.tokens.pseudonyms.number(number) if is_pseudonym(session) else number
        try:
            parts = await list_parts_at_stop(self.network, viewer, session, known)
        except Refused as refusal:
            if refusal.code != "not-found":
                raise
            return None
        return [one.id for one in parts]

    async def viewers(self, name: str) -> tuple[Caller, Caller]:
        """Return a service and a person of its organization."""
        service = self.caller("Sender/Out" if name == "Sender" else f"{name}/In")
        return service, await self.person(f"p@{name.casefold()}.example", name)


@pytest.fixture
async def scenario() -> AsyncIterator[Journey]:
    async with Journey() as scenario:
        await scenario.travel()
        yield scenario


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
async def test_each_viewer_sees_only_its_parts_at_each_stop(scenario: Journey, viewer: str) -> None:
    for asking in await scenario.viewers(viewer):
        session = scenario.known.get(viewer, scenario.session)
        assert {stop: await scenario.seen(asking, session, stop) for stop in scenario.deliveries} == SEEN[viewer]


@pytest.mark.req("R12", "Z5")
async def test_an_isolated_service_knows_the_message_by_another_session(scenario: Journey) -> None:
    assert scenario.known["Guard"] != scenario.session
    assert scenario.known["Stamp"] == scenario.known["Acme"] == scenario.session
    guard = scenario.caller("Guard/In")
    assert await scenario.seen(guard, scenario.session, "Guard") is None
    with pytest.raises(Refused, match="not-found"):
        await load_history(scenario.network, guard, scenario.session)
    [told] = (await load_history(scenario.network, guard, scenario.known["Guard"])).messages
    assert (told.session, told.seq, told.at_us % 1_000_000) == (scenario.known["Guard"], 0, 0)
    shown = told.copies[0].stops[0].delivery
    assert shown != scenario.deliveries["Guard"]
    assert [one.id for one in await list_parts_at_stop(scenario.network, guard, told.session, shown)] == ALL
    [same] = (await load_history(scenario.network, scenario.caller("Sender/Out"), scenario.known["Guard"])).messages
    assert same.session == scenario.session, "whoever may see the message finds it by either name"


TOLD = {
    "Sender": ["Postcard/In", "Stamp/In", "Acme/In"],
    "Postcard": ["Postcard/In", "Stamp/In"],
    "Stamp": ["Stamp/In"],
    "Guard": ["Guard/In"],
    "Acme": ["Guard/In", "Acme/In"],
}


@pytest.mark.req("Z5", "R12")
@pytest.mark.parametrize("viewer", TOLD)
async def test_the_history_tells_each_of_the_stops_that_it_sees(scenario: Journey, viewer: str) -> None:
    for asking in await scenario.viewers(viewer):
        [message] = (
            await load_history(scenario.network, asking, scenario.known.get(viewer, scenario.session))
        ).messages
        [copy] = message.copies
        assert [stop.service for stop in copy.stops] == TOLD[viewer]
        isolated = viewer == "Guard"
        assert (message.sender, message.handle) == (("Acme/In", "") if isolated else ("Sender/Out", "h-1"))


@pytest.mark.req("M2", "Z5")
async def test_a_poll_tells_of_the_stops_before_but_for_those_that_are_kept_from_the_receiver(
    scenario: Journey,
) -> None:
    assert scenario.traces == {
        "Postcard": [],
        "Stamp": ["Postcard/In"],
        "Guard": [],
        "Acme": ["Postcard/In", "Stamp/In", "Guard/In"],
    }


@pytest.mark.req("M2", "R12")
async def test_a_poll_tells_of_absorbed_errors_and_of_nothing_when_not_asked() -> None:
    async with Scenario() as scenario:
        for address in ("Sender/Out", "Vain/Try", "Acme/In"):
            await scenario.service(address)
        await scenario.rule("Sender/Out", {"addServiceAfter": "Vain/Try", "errors": "absorb"})
        for asked in (True, False):
            await scenario.post("Sender/Out", "Acme/In", parts=PARTS)
            await scenario.respond(await scenario.receive("Vain/Try"), status=Status("sold-out", "sorry"))
            [arrived] = await scenario.take("Acme/In", trace=asked)
            told = [(stop.service, stop.status) for stop in arrived.trace]
            assert told == ([("Vain/Try", Status("sold-out", "sorry"))] if asked else [])


@pytest.mark.req("R12", "Z5")
async def test_the_list_of_received_messages_keeps_the_sender_from_one_that_is_isolated(scenario: Journey) -> None:
    directory = scenario.network.directory
    for viewer, told in (("Guard", ("Acme/In", "")), ("Acme", ("Sender/Out", "h-1"))):
        [row] = (await browse(scenario.network, scenario.caller(f"{viewer}/In"), MessageSearch(box="received"))).rows
        assert (directory.services[row["message"].sender].address, row["message"].handle) == told


@pytest.mark.req("N5", "Z5")
async def test_a_withheld_document_is_not_to_be_had_in_any_way(scenario: Journey) -> None:
    postcard = scenario.caller("Postcard/In")
    for stop in ("Postcard", "Stamp"):
        with pytest.raises(Refused, match="not-found"):
            await read_part_at_stop(scenario.network, postcard, scenario.session, scenario.deliveries[stop], "secret")
    with pytest.raises(Refused, match="not-found"):
        await read_part(scenario.network, postcard, scenario.session, "secret")
    assert (await read_part(scenario.network, postcard, scenario.session, "open")).data == b"anybody"
    assert (await read_part(scenario.network, scenario.caller("Acme/In"), scenario.session, "secret")).data == PARTS[
        1
    ].data


async def test_a_look_of_a_person_is_on_record_and_operators_do_not_look(scenario: Journey) -> None:
    person = await scenario.person("p@acme.example", "Acme")
    operator = await scenario.person("op@example.org", operator=True)
    number = scenario.deliveries["Acme"]
    assert (await read_part_at_stop(scenario.network, person, scenario.session, number, "open")).data == b"anybody"
    assert await scenario.seen(operator, scenario.session, "Acme") is None
    looks = await scenario.entries(AccessRecorded)
    assert [(look.by, look.what, look.detail) for look in looks] == [
        ("p@acme.example", "payload.read", f"{scenario.session} {number} open")
    ]


async def test_a_delivery_is_found_under_its_own_message_only(scenario: Journey) -> None:
    other = await scenario.post("Sender/Out", "Acme/In", parts=PARTS)
    for session, number in (
        (other.session, scenario.deliveries["Acme"]),
        (scenario.session, 1 << 70),
        (scenario.session, 7),
    ):
        with pytest.raises(Refused, match="not-found"):
            await list_parts_at_stop(scenario.network, scenario.caller("Sender/Out"), session, number)
