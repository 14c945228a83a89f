"""Documents that a sender withholds from a service: nor do those get them who stand in its place, or whom it keeps to itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.model.directory import DocumentAccess, Visibility
from postroad.core.model.message import Delivered, MessageType, Part
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import list_parts_at_stop
from postroad.flow.administration.messages.message_list import load_history
from postroad.testing import Scenario

PARTS = tuple(Part(id=name, content_type="text/plain", data=b"as posted") for name in ("open", "secret"))


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    """Sender/Out names Postcard/In on the way to Acme/In, and withholds ``secret`` from Postcard."""
    async with Scenario() as scenario:
        withheld = (DocumentAccess(service="Postcard", read=("open",), change=("open",)),)
        await scenario.service("Sender/Out", document_access=withheld, visibility=Visibility.PRIVATE)
        for name in ("Postcard", "Friend", "Other", "Acme"):
            await scenario.service(f"{name}/In")
        yield scenario


async def post(scenario: Scenario, type: MessageType = MessageType.NOTIFICATION) -> None:
    await scenario.post("Sender/Out", "Acme/In", route=["Postcard/In"], type=type, parts=PARTS)


async def seen_afterwards(scenario: Scenario, delivered: Delivered) -> list[str]:
    """Return the documents that the recipient finds in the records of what it was given."""
    viewer = scenario.recipient_of(delivered)
    told = (await load_history(scenario.network, viewer, delivered.session)).messages[0]
    stop = told.copies[0].stops[0].delivery
    return [part.id for part in await list_parts_at_stop(scenario.network, viewer, delivered.session, stop)]


def ids(delivered: Delivered) -> list[str]:
    return [part.id for part in delivered.parts]


@pytest.mark.req("N5")
@pytest.mark.parametrize("action", [
    {"redirect": "Friend/In"},
    {"redirect": "Friend/In", "isolate": True},
    {"addServiceBefore": "Friend/In", "isolate": True},
])  # fmt: skip
async def test_a_replacement_or_isolated_service_gets_no_documents_withheld_from_the_one_that_includes_it(
    scenario: Scenario, action: dict[str, object]
) -> None:
    await scenario.rule("Postcard/In", action)
    await post(scenario)
    given = await scenario.receive("Friend/In")
    assert ids(given) == ["open"]
    assert await seen_afterwards(scenario, given) == ["open"]
    with pytest.raises(Refused, match=r"document\.read-only"):
        await scenario.respond(given, parts=(Part(id="secret", content_type="text/plain", data=b"guessed"),))
    await scenario.respond(given, parts=(Part(id="open", content_type="text/plain", data=b"changed"),))
    if "addServiceBefore" in action:
        await scenario.respond(await scenario.receive("Postcard/In"))
    arrived = await scenario.receive("Acme/In")
    assert {part.id: part.data for part in arrived.parts} == {"open": b"changed", "secret": b"as posted"}


@pytest.mark.req("N5")
@pytest.mark.parametrize("hides", [False, True])
async def test_services_further_along_a_chain_of_redirects_get_no_withheld_documents(
    scenario: Scenario, hides: bool
) -> None:
    for name, target in (("Postcard", "Friend"), ("Friend", "Other")):
        await scenario.rule(f"{name}/In", {"redirect": f"{target}/In", "isolate": hides})
    await post(scenario)
    given = await scenario.receive("Other/In")
    assert ids(given) == ["open"]
    assert await seen_afterwards(scenario, given) == ["open"]


@pytest.mark.req("N5")
async def test_rules_of_a_replacement_cannot_see_withheld_documents(scenario: Scenario) -> None:
    await scenario.rule("Postcard/In", {"redirect": "Friend/In"})
    when = {"equals": {"header": "documents.id", "value": "secret"}}
    await scenario.rule("Friend/In", {"addServiceBefore": "Other/In"}, when=when)
    await post(scenario)
    assert await scenario.poll("Other/In") == []
    assert ids(await scenario.receive("Friend/In")) == ["open"]


@pytest.mark.req("N5")
async def test_a_replacement_sees_no_withheld_documents_at_services_that_it_includes(scenario: Scenario) -> None:
    """Friend stands in Postcard's place, and brings Other in, openly: the sender can name that one, and has not."""
    await scenario.rule("Postcard/In", {"redirect": "Friend/In"})
    await scenario.rule("Friend/In", {"addServiceBefore": "Other/In"})
    await post(scenario)
    given = await scenario.receive("Other/In")
    assert ids(given) == ["open", "secret"]
    friend, number = scenario.caller("Friend/In"), scenario.number(given)
    looked = await list_parts_at_stop(scenario.network, friend, given.session, number)
    assert [part.id for part in looked] == ["open"]


@pytest.mark.req("N5")
async def test_an_isolated_service_of_the_recipient_gets_the_documents_of_the_recipient(scenario: Scenario) -> None:
    """Also where the recipient's house is one from which documents are withheld on the way to others."""
    await scenario.rule("Postcard/In", {"addServiceBefore": "Friend/In", "isolate": True}, role="recipient")
    await scenario.post("Sender/Out", "Postcard/In", parts=PARTS)
    assert ids(await scenario.receive("Friend/In")) == ["open", "secret"]


@pytest.mark.req("N5")
async def test_a_replacement_gets_nothing_when_the_service_that_redirected_is_gone(scenario: Scenario) -> None:
    await scenario.rule("Postcard/In", {"redirect": "Friend/In", "isolate": True})
    await post(scenario)
    rules = scenario.network.directory.rules_of(scenario.gcid("Postcard/In"))
    await scenario.remove("Postcard/In", *rules)
    assert ids(await scenario.receive("Friend/In")) == []


@pytest.mark.req("N5", "R13")
async def test_documents_withheld_by_the_responder_stay_withheld_on_the_way_back(scenario: Scenario) -> None:
    """The responder withholds from Postcard, in whose place Friend sees what comes back."""
    await scenario.rule("Postcard/In", {"redirect": "Friend/In"})
    await scenario.change("Acme/In", document_access=(DocumentAccess(service="Postcard", read=("open",)),))
    await scenario.change("Friend/In", returns=True)
    await post(scenario, MessageType.REQUEST)
    await scenario.respond(await scenario.receive("Friend/In"))
    await scenario.respond(await scenario.receive("Acme/In"), parts=PARTS)
    assert ids(await scenario.receive("Friend/In")) == ["open"]
