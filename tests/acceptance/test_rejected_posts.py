"""A rejected post can be found, traced and explained by its sender's organization, and by nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.errors import Refused
from tests.acceptance.asking import Asked, asked_network

ORDER = Part(id="order", content_type="application/xml", data=b"<Order><Total>150.5</Total></Order>")
RULE = {
    "name": "large orders",
    "role": "sender",
    "when": {"greaterThan": {"body": "/Order/Total", "as": "number", "value": 100}},
    "then": [{"addServiceAfter": "Birch/Public"}],
}


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def reject(asked: Asked, *to: str, parts: tuple[Part, ...] = (ORDER,), topic: str = "orders") -> str:
    """Post something that is rejected; returns the session that the refusal names."""
    caller = asked.running.network.directory.service("Aster/Private")
    assert caller is not None
    message = Message(
        to=tuple(map(Recipient, to)), topic=topic, handle="PO-7", parts=parts, type=MessageType.NOTIFICATION
    )
    with pytest.raises(Refused) as refused:
        await asked.running.network.post(Caller(service=caller), message, size=321, form="json")
    assert refused.value.session
    return refused.value.session


@pytest.mark.req("A1")
async def test_what_is_known_of_a_rejected_post_is_kept(asked: Asked) -> None:
    session = await reject(asked, "Nobody/Nothing", "Birch/Private")
    told = (await asked.ask("owner of A", "GET", f"/v1/messages/{session}")).json()
    assert (told["type"], told["topic"], told["handle"]) == ("notification", "orders", "PO-7")
    assert (told["size"], told["wireSize"]) == (len(ORDER.data), 321)
    assert [one["recipient"] for one in told["recipients"]] == ["Nobody/Nothing", "Birch/Private"]
    assert {one["code"] for one in told["recipients"]} == {"recipient.unknown"}
    [listed] = (await asked.ask("owner of A", "GET", "/v1/messages?box=refused")).json()["items"]
    assert (listed["type"], listed["recipients"]) == ("notification", ["Nobody/Nothing", "Birch/Private"])


@pytest.mark.req("A2")
async def test_a_rejected_post_has_a_trace(asked: Asked) -> None:
    session = await reject(asked, "Nobody/Nothing")
    [message] = (await asked.ask("service of A", "GET", f"/v1/messages/{session}/trace")).json()["messages"]
    assert (message["session"], message["code"], message["from"]) == (session, "recipient.unknown", "Aster/Private")
    assert message["detail"]
    [copy] = message["copies"]
    assert (copy["recipient"], copy["code"], copy["stops"]) == ("Nobody/Nothing", "recipient.unknown", [])


@pytest.mark.req("R16")
async def test_a_rejected_post_is_explained_with_the_rules_that_were_tried(asked: Asked) -> None:
    made = await asked.ask("owner of A", "POST", "/v1/services/Aster/Private/rules", RULE)
    assert made.status_code == 201, made.text
    session = await reject(asked, "Nobody/Nothing")
    told = (await asked.ask("owner of A", "GET", f"/v1/messages/{session}/explanation")).json()
    assert told["code"] == "recipient.unknown"
    [service] = told["services"]
    [rule] = service["rules"]
    assert (service["service"], rule["name"], rule["held"]) == ("Aster/Private", "large orders", True)


@pytest.mark.req("R16")
async def test_a_post_that_was_rejected_before_routing_is_explained_too(asked: Asked) -> None:
    session = await reject(asked)
    told = (await asked.ask("service of A", "GET", f"/v1/messages/{session}/explanation")).json()
    assert (told["code"], told["services"], told["copies"]) == ("recipient.missing", [], [])


@pytest.mark.req("Z5")
@pytest.mark.parametrize("path", ["", "/trace", "/explanation"])
async def test_nobody_else_learns_of_it(asked: Asked, path: str) -> None:
    session = await reject(asked, "Nobody/Nothing")
    for who in ("owner of B", "service of B"):
        assert (await asked.ask(who, "GET", f"/v1/messages/{session}{path}")).status_code == 404
    assert (await asked.ask("operator", "GET", f"/v1/messages/{session}{path}")).status_code == 200


@pytest.mark.req("A1")
async def test_what_a_client_makes_long_is_cut(asked: Asked) -> None:
    session = await reject(asked, *[f"Nobody/{'n' * 300}{number}" for number in range(300)], topic="t" * 10_000)
    told = (await asked.ask("owner of A", "GET", f"/v1/messages/{session}")).json()
    assert (len(told["topic"]), len(told["recipients"])) == (200, 100)
