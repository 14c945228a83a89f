"""Messages are found by what they are known by, and only by those who may know them by it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Person, Visibility
from postroad.core.model.message import MessageType, Part, Property
from postroad.core.routing.conditions.documents import MessageDocuments
from postroad.core.routing.search_keys import MAX_KEYS
from postroad.errors import Refused
from postroad.flow.administration.messages import search
from postroad.flow.administration.messages.message_list import load_message
from postroad.flow.administration.messages.search import MAX_FOUND, find
from postroad.flow.administration.messages.search_candidates import SearchCandidate
from postroad.testing import Scenario
from postroad.testing.scenario import Who
from tests.samples.exchange_scenario import NORTH, exchange_scenario

ORDERS = ServiceProfile.model_validate(
    {
        "indexes": {
            "order": {"body": "/order/number"},
            "customer": {"body": "$.customer"},
            "region": {"header": "properties.region"},
        }
    }
)
OPERATOR = Caller(person=Person(email="op@network.example", operator=True))


SENDER, ACME = "MyBiz/Out", "Acme/In"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with Scenario() as scenario:
        yield scenario


def keys() -> dict[str, Any]:
    return {"indexes": ORDERS.service(gcid="0" * 16, organization="x", name="y").indexes}


def order(number: str) -> Part:
    return Part(id="order", content_type="application/xml", data=f"<order><number>{number}</number></order>".encode())


async def post(scenario: Scenario, *parts: Part, to: str | Sequence[str] = ACME, **header: Any) -> str:
    return (await scenario.post(SENDER, to, parts=parts, **header)).session


async def found(scenario: Scenario, who: Who, asked: str) -> list[tuple[str, str]]:
    messages = (await find(scenario.network, scenario.caller(who), asked)).messages
    return [(one.session, ", ".join(one.by)) for one in messages]


@pytest.mark.req("C2")
async def test_sender_and_receivers_find_a_message_by_the_keys_that_either_declares(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    acme = await scenario.service(ACME, **keys())
    other = await scenario.service("Other/In")
    session = await post(scenario, order(" PO\n 4711 "), properties=(Property("region", "North"),))
    await post(scenario, order("PO 4711"), to="Other/In")  # nobody there declares anything
    for caller in (sender, acme):
        assert await found(scenario, caller, "po 4711") == [(session, "order")]
        assert await found(scenario, caller, "north") == [(session, "region")]
    assert await found(scenario, other, "PO 4711") == []
    assert await found(scenario, OPERATOR, "PO 4711") == [(session, "order")]


async def test_responses_and_json_are_found_too(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, **keys())
    acme = await scenario.service(ACME)
    await post(
        scenario,
        Part(id="a", content_type="application/json", data=b'{"customer": 815}'),
        type=MessageType.REQUEST,
    )
    delivered = await scenario.receive(ACME)
    response = (await scenario.respond(delivered, parts=(order("PO 1"),))).session
    assert [by for _, by in await found(scenario, sender, "00815")] == ["customer"]
    assert await found(scenario, acme, "PO 1") == [(response, "order")]
    assert await found(scenario, acme, delivered.token) == [(delivered.session, "token")]


async def test_handles_references_and_refused_posts_are_found_by_all_who_have_them(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    acme = await scenario.service(ACME)
    stranger = await scenario.service("Stranger/In", visibility=Visibility.PRIVATE)
    given = (Property("interchange.reference", "000000042"), Property("document.reference", "D-7"))
    session = await post(scenario, handle="H-1", properties=given)
    with pytest.raises(Refused) as refused:
        await post(scenario, to="Nobody/In", handle="H-2")
    for caller in (sender, acme):
        assert await found(scenario, caller, "h-1") == [(session, "handle")]
        assert await found(scenario, caller, "42") == [(session, "control number")]
        assert await found(scenario, caller, "d-7") == [(session, "reference")]
    assert await found(scenario, sender, "H-2") == [(refused.value.session, "handle")]
    for known in ("H-1", "42", "H-2", session):
        assert await found(scenario, stranger, known) == []


async def test_a_service_cannot_guess_at_a_document_that_is_withheld_from_it(scenario: Scenario) -> None:
    withheld = (DocumentAccess(service="Postcard", read=(), change=()),)
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, document_access=withheld, **keys())
    postcard, guard = [await scenario.service(f"{name}/In") for name in ("Postcard", "Guard")]
    await scenario.service(ACME)
    await scenario.rule(ACME, {"addServiceBefore": "Guard/In", "isolate": True})
    session = await post(scenario, order("PO 9"), handle="H-9", route=["Postcard/In"])
    assert await found(scenario, postcard, "H-9") == [(session, "handle")]
    assert await found(scenario, postcard, "PO 9") == []
    assert await found(scenario, guard, "H-9") == await found(scenario, guard, "PO 9") == []
    assert await found(scenario, sender, "PO 9") == [(session, "order")]
    told = [await load_message(scenario.network, caller, session) for caller in (sender, postcard)]
    assert [one.found_by for one in told] == [(("order", "PO 9"),), ()]


def declaring(name: str) -> dict[str, Any]:
    """The profile of a public service that goes by order numbers, under a name of its own."""
    declared = ServiceProfile.model_validate({"indexes": {name: {"body": "/order/number"}}})
    return {"indexes": declared.service(gcid="0" * 16, organization="x", name="y").indexes}


@pytest.mark.req("Z5")
async def test_a_recipient_does_not_see_the_keys_that_another_recipient_declares(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, **declaring("order"))
    acme, beta = [await scenario.service(f"{name}/In", **declaring(f"{name}-no")) for name in ("Acme", "Beta")]
    session = await post(scenario, order("PO 7"), to=[ACME, "Beta/In"])
    for caller, names in ((sender, ("order", "Acme-no", "Beta-no")), (acme, ("order", "Acme-no"))):
        told = await load_message(scenario.network, caller, session)
        assert [name for name, _ in told.found_by] == list(names)
        assert await found(scenario, caller, "PO 7") == [(session, ", ".join(names))]
    assert [name for name, _ in (await load_message(scenario.network, beta, session)).found_by] == ["order", "Beta-no"]


@pytest.mark.req("R12", "Z5")
async def test_a_sender_is_not_told_what_a_hidden_recipient_declares(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    await scenario.service(ACME)
    await scenario.service("Guard/In", **declaring("Guard-no"))
    await scenario.rule(ACME, {"redirect": "Guard/In", "isolate": True}, role="recipient")
    session = await post(scenario, order("PO 6"))
    assert (await load_message(scenario.network, sender, session)).found_by == ()
    assert await found(scenario, sender, "PO 6") == []
    operator = await scenario.history(session)
    assert operator.messages[0].found_by == (("Guard-no", "PO 6"),)


@pytest.mark.parametrize("name", ["reference", "handle", "batch", "Message-ID"])
async def test_a_key_may_have_any_name_and_is_still_for_sender_and_receivers(scenario: Scenario, name: str) -> None:
    withheld = (DocumentAccess(service="Postcard", read=(), change=()),)
    declared = ServiceProfile.model_validate({"indexes": {name: {"body": "/order/number"}}})
    indexes = declared.service(gcid="0" * 16, organization="x", name="y").indexes
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, document_access=withheld, indexes=indexes)
    acme, postcard = [await scenario.service(f"{name}/In") for name in ("Acme", "Postcard")]
    direct = await post(scenario, order("PO 8"))
    assert await found(scenario, acme, "PO 8") == await found(scenario, sender, "PO 8") == [(direct, name)]
    session = await post(scenario, order("PO 9"), route=["Postcard/In"])
    assert await found(scenario, postcard, session) == [(session, "session")]
    assert await found(scenario, postcard, "PO 9") == []
    assert await found(scenario, sender, "PO 9") == [(session, name)]


async def test_a_token_finds_the_message_as_its_receiver_got_it(scenario: Scenario) -> None:
    await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    for address in (ACME, "Guard/In", "Guard/Open"):
        await scenario.service(address)
    await scenario.rule(ACME, {"addServiceBefore": "Guard/In", "isolate": True})
    session = await post(scenario, to=[ACME, "Guard/Open"])
    hidden, plain = await scenario.receive("Guard/In"), await scenario.receive("Guard/Open")
    assert hidden.session != session == plain.session
    people = Caller(person=Person(email="g@guard.example", organization="Guard"))
    assert await found(scenario, people, hidden.token) == [(hidden.session, "token")]
    assert await found(scenario, people, plain.token) == [(session, "token")]
    assert [by for _, by in await found(scenario, OPERATOR, hidden.token)] == ["token"]
    real = scenario.number(hidden)
    forged = f"{real:x}.{hidden.token.partition('.')[2]}"
    for untrue in (forged, plain.token[:-1] + ("0" if plain.token[-1] != "0" else "1")):
        assert await found(scenario, people, untrue) == []


async def test_results_are_limited_and_exclude_other_values_with_the_same_hash(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, **keys())
    await scenario.service(ACME)
    sessions = [await post(scenario, order("plumless")) for _ in range(MAX_FOUND + 2)]
    await post(scenario, order("buckeroo"))  # the same hash
    newest = [session for session, _ in await found(scenario, sender, "plumless")]
    assert set(newest) <= set(sessions)
    assert len(newest) == MAX_FOUND
    assert len(await found(scenario, sender, "buckeroo")) == 1


async def test_a_refused_post_is_not_taken_for_one_with_the_same_hash(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    with pytest.raises(Refused) as refused:
        await post(scenario, to="Nobody/In", handle="plumless")
    assert await found(scenario, sender, "buckeroo") == []
    assert await found(scenario, sender, "Plumless") == [(refused.value.session, "handle")]


async def test_handles_from_before_they_were_indexed_are_found_in_pages(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_given: object) -> AsyncIterator[SearchCandidate]:
        return
        yield  # pragma: no cover

    monkeypatch.setattr(search, "find_by_value", nothing)
    senders = [await scenario.service(f"MyBiz/Out{number}", visibility=Visibility.PRIVATE) for number in range(3)]
    await scenario.service(ACME)
    sessions = [
        (await scenario.post(sender, ACME, handle="H-1", possible_duplicate=True)).session for sender in senders
    ]
    people = Caller(person=Person(email="m@mybiz.example", organization="MyBiz"))
    first = await find(scenario.network, people, "H-1", limit=2)
    assert first.next_before is not None
    rest = await find(scenario.network, people, "H-1", first.next_before, limit=2)
    assert rest.next_before is None
    assert {one.session for one in (*first.messages, *rest.messages)} == set(sessions)
    assert len(rest.messages) == 1
    assert await found(scenario, people, "h-1") == []


async def test_documents_are_not_read_where_no_keys_are_declared(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_given: object) -> None:
        raise AssertionError("a document was looked into")

    monkeypatch.setattr(MessageDocuments, "__init__", never)
    await scenario.service(SENDER, visibility=Visibility.PRIVATE)
    await scenario.service(ACME)
    await post(scenario, order("PO 1"))


async def test_unreadable_documents_are_delivered_and_keys_are_limited(scenario: Scenario) -> None:
    sender = await scenario.service(SENDER, visibility=Visibility.PRIVATE, **keys())
    await scenario.service(ACME)
    await post(scenario, Part(id="a", content_type="application/xml", data=b"<order><number>1"))
    many = "".join(f"<number>N-{number}</number>" for number in range(MAX_KEYS + 5)) + f"<number>{'x' * 900}</number>"
    session = await post(scenario, Part(id="b", content_type="application/xml", data=f"<order>{many}</order>".encode()))
    assert await found(scenario, sender, f"N-{MAX_KEYS - 1}") == [(session, "order")]
    assert await found(scenario, sender, f"N-{MAX_KEYS}") == []


def test_indexes_are_written_as_they_were_read() -> None:
    written = {
        "order": {"body": "/o:order/number", "namespaces": {"o": "urn:orders"}, "document": "order"},
        "region": {"header": "properties.region"},
    }
    service = ServiceProfile.model_validate({"indexes": written}).service(gcid="0" * 16, organization="A", name="B")
    assert profile_of(service)["indexes"] == written


@pytest.mark.parametrize(
    ("indexes", "fault"),
    [
        ({"order": {"body": "order/number"}}, "a path starts with /"),
        ({"order": "/order/number"}, r"specify where the key is, such as \{body: /order/number\}"),
        ({"order": {"header": "to"}}, "only use properties"),
        ({"order": {"header": "properties."}}, "only use properties"),
        ({"order": {"body": "/a", "header": "properties.b"}}, "exactly one"),
        ({"order": {"body": "/a/@b", "schema": "s"}}, "do not support schema"),
        ({"an order": {"body": "/a"}}, "pattern"),
        ({f"k{number}": {"body": "/a"} for number in range(21)}, "at most 20"),
    ],
)
def test_an_index_that_could_not_be_looked_up_is_refused(indexes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        ServiceProfile.model_validate({"indexes": indexes})


async def test_forwarded_messages_are_found_by_the_keys_of_their_receiver() -> None:
    async with exchange_scenario() as scenario:
        region = ServiceProfile.model_validate({"indexes": {"total": {"body": "/order/total"}}})
        indexes = region.service(gcid=scenario.gcid(NORTH), organization="x", name="y").indexes
        await scenario.change(NORTH, indexes=indexes)
        await scenario.add_binding(NORTH)
        await scenario.publish()
        delivered = await scenario.got(NORTH)
        assert await found(scenario, NORTH, "1200") == [(delivered.session, "total")]
