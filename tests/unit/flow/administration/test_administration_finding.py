"""Messages are found by what they are known by, and only by those who may know them by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Person, Visibility
from postroad.core.model.message import Message, MessageType, Part, Property, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.routing.business_keys import MAX_KEYS
from postroad.core.routing.conditions.documents import MessageDocuments
from postroad.errors import Refused
from postroad.flow.administration.messages import search
from postroad.flow.administration.messages.message_list import load_message
from postroad.flow.administration.messages.search import MAX_FOUND, find
from postroad.flow.administration.messages.search_candidates import SearchCandidate
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network
from tests.unit.services.exchange.test_exchange import Market, market

__all__ = ["market"]  # the fixture

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
PUBLIC = {"visibility": Visibility.PUBLIC}


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        yield network


def keys() -> dict[str, Any]:
    return {"indexes": ORDERS.service(gcid="0" * 16, organization="x", name="y").indexes}


def order(number: str) -> Part:
    return Part(id="order", content_type="application/xml", data=f"<order><number>{number}</number></order>".encode())


async def post(running: MemoryNetwork, sender: Caller, *parts: Part, to: str = "Acme/In", **more: Any) -> str:
    return (await running.network.post(sender, Message(to=(Recipient(to),), parts=parts, **more))).session


async def found(running: MemoryNetwork, caller: Caller, asked: str) -> list[tuple[str, str]]:
    return [(one.session, ", ".join(one.by)) for one in (await find(running.network, caller, asked)).messages]


@pytest.mark.req("C2")
async def test_sender_and_receivers_find_a_message_by_the_keys_that_either_declares(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    acme = await running.register("Acme/In", **PUBLIC, **keys())
    other = await running.register("Other/In", **PUBLIC)
    session = await post(running, sender, order(" PO\n 4711 "), properties=(Property("region", "North"),))
    await post(running, sender, order("PO 4711"), to="Other/In")  # nobody there declares anything
    for caller in (sender, acme):
        assert await found(running, caller, "po 4711") == [(session, "order")]
        assert await found(running, caller, "north") == [(session, "region")]
    assert await found(running, other, "PO 4711") == []
    assert await found(running, OPERATOR, "PO 4711") == [(session, "order")]


async def test_responses_and_json_are_found_too(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out", **keys())
    acme = await running.register("Acme/In", **PUBLIC)
    await post(
        running,
        sender,
        Part(id="a", content_type="application/json", data=b'{"customer": 815}'),
        type=MessageType.REQUEST,
    )
    [delivered] = await running.network.poll(acme, PollRequest(max=1))
    answer = Message(type=MessageType.RESPONSE, reference=delivered.token, parts=(order("PO 1"),))
    response = (await running.network.post(acme, answer)).session
    assert [by for _, by in await found(running, sender, "00815")] == ["customer"]
    assert await found(running, acme, "PO 1") == [(response, "order")]
    assert await found(running, acme, delivered.token) == [(delivered.session, "token")]


async def test_handles_references_and_refused_posts_are_found_by_all_who_have_them(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    acme = await running.register("Acme/In", **PUBLIC)
    stranger = await running.register("Stranger/In")
    given = (Property("interchange.reference", "000000042"), Property("document.reference", "D-7"))
    session = await post(running, sender, handle="H-1", properties=given)
    with pytest.raises(Refused) as refused:
        await post(running, sender, to="Nobody/In", handle="H-2")
    for caller in (sender, acme):
        assert await found(running, caller, "h-1") == [(session, "handle")]
        assert await found(running, caller, "42") == [(session, "control number")]
        assert await found(running, caller, "d-7") == [(session, "reference")]
    assert await found(running, sender, "H-2") == [(refused.value.session, "handle")]
    for known in ("H-1", "42", "H-2", session):
        assert await found(running, stranger, known) == []


async def test_who_is_kept_from_a_document_cannot_guess_at_it(running: MemoryNetwork) -> None:
    withheld = (DocumentAccess(service="Postcard", read=(), change=()),)
    sender = await running.register("MyBiz/Out", document_access=withheld, **keys())
    postcard, guard = [await running.register(f"{name}/In", **PUBLIC) for name in ("Postcard", "Guard")]
    acme = await running.register("Acme/In", **PUBLIC)
    assert acme.service is not None
    rule = {"name": "r", "when": "always", "then": [{"addServiceBefore": "Guard/In", "isolate": True}]}
    await running.network.configuration.change(
        "test", [build_save(rule_of(RuleEntry.model_validate(rule), acme.service.gcid, 0))]
    )
    session = await post(running, sender, order("PO 9"), handle="H-9", route=(Recipient("Postcard/In"),))
    assert await found(running, postcard, "H-9") == [(session, "handle")]
    assert await found(running, postcard, "PO 9") == []
    assert await found(running, guard, "H-9") == await found(running, guard, "PO 9") == []
    assert await found(running, sender, "PO 9") == [(session, "order")]
    told = [await load_message(running.network, caller, session) for caller in (sender, postcard)]
    assert [one.found_by for one in told] == [(("order", "PO 9"),), ()]


def declaring(name: str) -> dict[str, Any]:
    """The profile of a public service that goes by order numbers, under a name of its own."""
    declared = ServiceProfile.model_validate({"indexes": {name: {"body": "/order/number"}}})
    return {**PUBLIC, "indexes": declared.service(gcid="0" * 16, organization="x", name="y").indexes}


@pytest.mark.req("Z5")
async def test_nobody_is_told_of_another_recipient_by_what_that_one_declares(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out", **declaring("order"))
    acme, beta = [await running.register(f"{name}/In", **declaring(f"{name}-no")) for name in ("Acme", "Beta")]
    to = (Recipient("Acme/In"), Recipient("Beta/In"))
    session = (await running.network.post(sender, Message(to=to, parts=(order("PO 7"),)))).session
    for caller, names in ((sender, ("order", "Acme-no", "Beta-no")), (acme, ("order", "Acme-no"))):
        told = await load_message(running.network, caller, session)
        assert [name for name, _ in told.found_by] == list(names)
        assert await found(running, caller, "PO 7") == [(session, ", ".join(names))]
    assert [name for name, _ in (await load_message(running.network, beta, session)).found_by] == ["order", "Beta-no"]


@pytest.mark.req("R12", "Z5")
async def test_a_sender_is_not_told_what_a_hidden_recipient_declares(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    acme = await running.register("Acme/In", **PUBLIC)
    await running.register("Guard/In", **declaring("Guard-no"))
    assert acme.service is not None
    rule = {"name": "r", "when": "always", "role": "recipient", "then": [{"redirect": "Guard/In", "isolate": True}]}
    await running.network.configuration.change(
        "test", [build_save(rule_of(RuleEntry.model_validate(rule), acme.service.gcid, 0))]
    )
    session = await post(running, sender, order("PO 6"))
    assert (await load_message(running.network, sender, session)).found_by == ()
    assert await found(running, sender, "PO 6") == []
    operator = await running.network.trace(session, None)
    assert operator is not None
    assert operator.messages[0].found_by == (("Guard-no", "PO 6"),)


@pytest.mark.parametrize("name", ["reference", "handle", "batch", "Message-ID"])
async def test_a_key_may_have_any_name_and_is_still_for_sender_and_receivers(running: MemoryNetwork, name: str) -> None:
    withheld = (DocumentAccess(service="Postcard", read=(), change=()),)
    declared = ServiceProfile.model_validate({"indexes": {name: {"body": "/order/number"}}})
    indexes = declared.service(gcid="0" * 16, organization="x", name="y").indexes
    sender = await running.register("MyBiz/Out", document_access=withheld, indexes=indexes)
    acme, postcard = [await running.register(f"{house}/In", **PUBLIC) for house in ("Acme", "Postcard")]
    direct = await post(running, sender, order("PO 8"))
    assert await found(running, acme, "PO 8") == await found(running, sender, "PO 8") == [(direct, name)]
    session = await post(running, sender, order("PO 9"), route=(Recipient("Postcard/In"),))
    assert await found(running, postcard, session) == [(session, "session")]
    assert await found(running, postcard, "PO 9") == []
    assert await found(running, sender, "PO 9") == [(session, name)]


async def test_a_token_leads_to_the_message_as_its_receiver_was_given_it(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    acme, guard = [await running.register(f"{name}/In", **PUBLIC) for name in ("Acme", "Guard")]
    openly = await running.register("Guard/Open", **PUBLIC)
    assert acme.service is not None
    rule = {"name": "r", "when": "always", "then": [{"addServiceBefore": "Guard/In", "isolate": True}]}
    await running.network.configuration.change(
        "test", [build_save(rule_of(RuleEntry.model_validate(rule), acme.service.gcid, 0))]
    )
    to = (Recipient("Acme/In"), Recipient("Guard/Open"))
    session = (await running.network.post(sender, Message(to=to))).session
    [hidden] = await running.network.poll(guard, PollRequest(max=1))
    [plain] = await running.network.poll(openly, PollRequest(max=1))
    assert hidden.session != session == plain.session
    people = Caller(person=Person(email="g@guard.example", organization="Guard"))
    assert await found(running, people, hidden.token) == [(hidden.session, "token")]
    assert await found(running, people, plain.token) == [(session, "token")]
    assert [by for _, by in await found(running, OPERATOR, hidden.token)] == ["token"]
    real = running.network.tokens.number(hidden.token)
    forged = f"{real:x}.{hidden.token.partition('.')[2]}"
    for untrue in (forged, plain.token[:-1] + ("0" if plain.token[-1] != "0" else "1")):
        assert await found(running, people, untrue) == []


async def test_many_with_one_key_are_cut_and_other_values_with_its_hash_are_not_shown(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out", **keys())
    await running.register("Acme/In", **PUBLIC)
    sessions = [await post(running, sender, order("plumless")) for _ in range(MAX_FOUND + 2)]
    await post(running, sender, order("buckeroo"))  # the same hash
    newest = [session for session, _ in await found(running, sender, "plumless")]
    assert set(newest) <= set(sessions)
    assert len(newest) == MAX_FOUND
    assert len(await found(running, sender, "buckeroo")) == 1


async def test_a_refused_post_is_not_taken_for_one_with_the_same_hash(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    with pytest.raises(Refused) as refused:
        await post(running, sender, to="Nobody/In", handle="plumless")
    assert await found(running, sender, "buckeroo") == []
    assert await found(running, sender, "Plumless") == [(refused.value.session, "handle")]


async def test_handles_from_before_the_index_knew_them_come_in_pages_too(
    running: MemoryNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_given: object) -> AsyncIterator[SearchCandidate]:
        return
        yield  # pragma: no cover

    monkeypatch.setattr(search, "find_by_value", nothing)
    senders = [await running.register(f"MyBiz/Out{number}") for number in range(3)]
    await running.register("Acme/In", **PUBLIC)
    sessions = [await post(running, sender, handle="H-1", possible_duplicate=True) for sender in senders]
    people = Caller(person=Person(email="m@mybiz.example", organization="MyBiz"))
    first = await find(running.network, people, "H-1", limit=2)
    assert first.next_before is not None
    rest = await find(running.network, people, "H-1", first.next_before, limit=2)
    assert rest.next_before is None
    assert {one.session for one in (*first.messages, *rest.messages)} == set(sessions)
    assert len(rest.messages) == 1
    assert await found(running, people, "h-1") == []


async def test_nothing_is_looked_at_where_nothing_is_declared(
    running: MemoryNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_given: object) -> None:
        raise AssertionError("a document was looked into")

    monkeypatch.setattr(MessageDocuments, "__init__", never)
    sender = await running.register("MyBiz/Out")
    await running.register("Acme/In", **PUBLIC)
    await post(running, sender, order("PO 1"))


async def test_what_cannot_be_read_goes_its_way_and_what_is_too_much_is_cut(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out", **keys())
    await running.register("Acme/In", **PUBLIC)
    await post(running, sender, Part(id="a", content_type="application/xml", data=b"<order><number>1"))
    many = "".join(f"<number>N-{number}</number>" for number in range(MAX_KEYS + 5)) + f"<number>{'x' * 900}</number>"
    session = await post(
        running, sender, Part(id="b", content_type="application/xml", data=f"<order>{many}</order>".encode())
    )
    assert await found(running, sender, f"N-{MAX_KEYS - 1}") == [(session, "order")]
    assert await found(running, sender, f"N-{MAX_KEYS}") == []


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


async def test_what_an_exchange_forwards_is_found_by_the_keys_of_whoever_gets_it(market: Market) -> None:
    mill = market.network.directory.services[market.gcid("north")]
    region = ServiceProfile.model_validate({"indexes": {"total": {"body": "/order/total"}}})
    indexes = region.service(gcid=mill.gcid, organization="x", name="y").indexes
    await market.network.configuration.change("test", [build_save(replace(mill, indexes=indexes))])
    await market.bind("north")
    await market.publish()
    delivered = await market.got("north")
    assert await found(market.running, market.callers["north"], "1200") == [(delivered.session, "total")]
