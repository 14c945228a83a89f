"""Where is my message? Asked over HTTP: what is found, as what, where it is; page by page, and nothing of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.registries.configuration import build_save
from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("C2")

INDEXES = {"order": {"body": "/order/number"}, "supplier": {"body": "/order/supplier"}}


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def declare(asked: Asked, address: str) -> None:
    service = asked.running.network.directory.service(address)
    assert service is not None
    declared = ServiceProfile.model_validate({"indexes": INDEXES}).service(gcid="0" * 16, organization="x", name="y")
    await asked.running.network.configuration.change("test", [build_save(replace(service, indexes=declared.indexes))])


async def post(asked: Asked, number: str = "PO 1", *, to: str = "Birch/Public", supplier: str = "", **more: Any) -> str:
    sender = await asked.running.authenticator.authenticate(
        Proof(f"Bearer {asked.keys['service of A']}".encode()), "test"
    )
    data = f"<order><number>{number}</number><supplier>{supplier}</supplier></order>".encode()
    part = Part(id="order", content_type="application/xml", data=data)
    return (await asked.running.network.post(sender, Message(to=(Recipient(to),), parts=(part,), **more))).session


async def find(asked: Asked, who: str, text: str, **query: Any) -> dict[str, Any]:
    more = "".join([f"&{name}={value}" for name, value in query.items()])
    response = await asked.ask(who, "GET", f"/v1/find?q={quote(text)}{more}")
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


async def test_a_key_finds_what_is_posted_once_it_is_declared(asked: Asked) -> None:
    await post(asked, "PO 1")
    assert await find(asked, "owner of A", "po 1") == {"items": []}
    await declare(asked, "Birch/Public")
    session = await post(asked, "PO 1", handle="H-1")
    for who in ("owner of A", "service of A", "owner of B", "operator"):
        [found] = (await find(asked, who, "po 1"))["items"]
        assert (found["kind"], found["by"], found["session"], found["handle"]) == ("message", ["order"], session, "H-1")
        assert (found["from"], found["recipients"], found["state"]) == ("Aster/Private", ["Birch/Public"], "waiting")
    assert await find(asked, "service of B", "po 1") == {"items": []}, (
        "it is another service's of the same organization"
    )


async def test_a_single_message_says_where_it_is_and_what_happens_next_in_fields_and_as_text(asked: Asked) -> None:
    session = await post(asked)
    [found] = (await find(asked, "owner of A", session.upper()))["items"]
    [where] = found["whereabouts"]
    assert found["by"] == ["session"]
    assert (where["recipient"], where["state"], where["since"]) == ("Birch/Public", "waiting", found["at"])
    assert where["where"] == "It waits in the mailbox of Birch/Public."
    assert where["next"] == "Birch/Public polls for its messages, and has not polled since."
    assert (where["nextAt"], where["why"], where["batch"]) == (None, "", "")
    expected = f"{where['where']} Since {found['at']}. {where['next']} It expires {where['expiresAt']}."
    assert where["text"] == expected
    receiver = asked.running.network.directory.service("Birch/Public")
    assert receiver is not None
    caller = replace(
        await asked.running.authenticator.authenticate(Proof(f"Bearer {asked.keys['service of B']}".encode()), "test"),
        service=receiver,
    )
    [delivered] = await asked.running.network.poll(caller, PollRequest(max=1, lease_s=60))
    [found] = (await find(asked, "owner of B", delivered.token))["items"]
    assert found["by"] == ["token"]
    [where] = found["whereabouts"]
    assert where["nextAt"] > where["since"]
    assert f" at {where['nextAt']}." in where["text"]
    await asked.running.network.settle(caller, Settlement(tokens=(delivered.token,)))
    [found] = (await find(asked, "owner of A", session))["items"]
    assert (found["state"], found["whereabouts"][0]["where"]) == ("delivered", "Birch/Public has received it.")


async def test_a_refused_post_says_why_and_is_for_whoever_posted_it(asked: Asked) -> None:
    with pytest.raises(Refused) as refused:
        await post(asked, to="Nobody/In", handle="H-2")
    [found] = (await find(asked, "owner of A", "h-2"))["items"]
    assert (found["session"], found["state"], found["from"]) == (refused.value.session, "refused", "Aster/Private")
    [where] = found["whereabouts"]
    assert where["why"].startswith("recipient.unknown: ")
    assert where["next"] == "Fix it, and post it again."
    for known in ("H-2", str(refused.value.session)):
        assert await find(asked, "owner of B", known) == {"items": []}


async def test_pages_go_on_where_the_one_before_ended_newest_first(asked: Asked) -> None:
    await declare(asked, "Aster/Private")
    sessions = [await post(asked, supplier="Birch/Public") for _ in range(5)]
    seen: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await find(asked, "owner of A", "Birch/Public", limit=2, cursor=cursor)
        seen += page["items"]
        assert len(page["items"]) == 2
        if "next" not in page:
            break
        cursor = page["next"]
    assert [one["kind"] for one in seen] == ["service", *["message"] * 5]
    assert (seen[0]["by"], seen[0]["gcid"]) == (["address"], asked.gcid("Birch/Public"))
    assert [one["session"] for one in seen[1:]] == sessions[::-1]
    assert [one["whereabouts"] for one in seen[1:]] == [[]] * 5
    for who, text in (("owner of B", "Birch/Public"), ("owner of A", "Birch/Private")):
        answer = await asked.ask(who, "GET", f"/v1/find?q={text}&limit=2&cursor={cursor}")
        assert answer.json()["code"] == "cursor.invalid"


async def test_nobody_sees_how_much_others_have(asked: Asked) -> None:
    await declare(asked, "Birch/Public")
    for _ in range(3):
        await post(asked, "PO 7")
    await asked.running.register("Cedar/In")
    keys = {"owner of C": await asked.running.enroll("owner@cedar.example", organization="Cedar")}
    asked.keys |= {who: await asked.running.key_for(caller) for who, caller in keys.items()}
    for limit in (1, 2, 200):
        assert await find(asked, "owner of C", "PO 7", limit=limit) == {"items": []}


@pytest.mark.parametrize("query", ["", "?q=", "?q=%20%20", "?q=a%00b", "?q=a&what=b", f"?q={'x' * 501}"])
async def test_a_question_that_asks_nothing_is_refused(asked: Asked, query: str) -> None:
    answer = await asked.ask("owner of A", "GET", f"/v1/find{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "value.invalid")
