"""Messages afterwards: lists with filters, states in plain words, histories, parts, queues."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, MessageType, Part, PostResult, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration.base import ABSENT_S
from tests.acceptance.asking import Asked, asked_network


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def service(asked: Asked, who: str) -> Caller:
    return await asked.running.authenticator.authenticate(Proof(f"Bearer {asked.keys[who]}".encode()), "test")


async def public_of_b(asked: Asked) -> Caller:
    directory = asked.running.network.directory
    caller = Caller(service=directory.service("Birch/Public"))
    asked.keys["public of B"] = await asked.running.key_for(caller)
    return caller


async def post(asked: Asked, topic: str = "", kind: MessageType = MessageType.NOTIFICATION) -> PostResult:
    parts = (
        Part(id="order", content_type="application/xml", data=b"<order>7</order>"),
        Part(id="scan", content_type="image/png", data=b"\x89PNG\x00", attachment=True),
    )
    message = Message(to=(Recipient("Birch/Public"), Recipient("Birch/Private")), topic=topic, type=kind, parts=parts)
    return await asked.running.network.post(await service(asked, "service of A"), message, size=100)


@pytest.mark.req("A1", "M8")
async def test_the_state_of_a_message_in_plain_words(asked: Asked) -> None:
    receiver = await public_of_b(asked)
    posted = await post(asked)
    path = f"/v1/messages/{posted.session}"
    first = (await asked.ask("viewer of A", "GET", path)).json()
    assert [(item["recipient"], item["state"]) for item in first["recipients"]] == [
        ("Birch/Public", "queued"),
        ("Birch/Private", "refused"),
    ]
    assert first["recipients"][0]["inWords"] == "waiting in the mailbox of Birch/Public"
    assert first["recipients"][1]["code"] == "recipient.unknown"
    [delivered] = await asked.running.network.poll(receiver, PollRequest())
    assert "handed out" in (await asked.ask("viewer of A", "GET", path)).json()["recipients"][0]["inWords"]
    await asked.running.network.settle(receiver, Settlement(tokens=(delivered.token,)))
    last = (await asked.ask("viewer of A", "GET", path)).json()
    assert last["recipients"][0]["inWords"] == "delivered to Birch/Public"


@pytest.mark.req("A2", "M11")
async def test_the_history_is_cut_to_what_each_may_see(asked: Asked) -> None:
    await public_of_b(asked)
    posted = await post(asked)
    path = f"/v1/messages/{posted.session}/trace"
    sender = (await asked.ask("owner of A", "GET", path)).json()
    assert sender["transaction"] == posted.transaction
    assert [copy["recipient"] for copy in sender["messages"][0]["copies"]] == ["Birch/Public", "Birch/Private"]
    receiver = (await asked.ask("owner of B", "GET", path)).json()
    assert [copy["recipient"] for copy in receiver["messages"][0]["copies"]] == ["Birch/Public"]
    assert (await asked.ask("public of B", "GET", path)).status_code == 200
    assert (await asked.ask("service of B", "GET", path)).status_code == 404, "it had no part in it"


async def test_lists_by_box_and_filter(asked: Asked) -> None:
    await public_of_b(asked)
    first = await post(asked, "orders", MessageType.REQUEST)
    second = await post(asked, "news")
    sender, lost = await service(asked, "service of A"), Message(to=(Recipient("Nobody/There"),), handle="h7")
    with pytest.raises(Refused):
        await asked.running.network.post(sender, lost)

    async def sessions(who: str, query: str) -> list[str]:
        response = await asked.ask(who, "GET", f"/v1/messages{query}")
        assert response.status_code == 200, response.text
        return [item["session"] for item in response.json()["items"]]

    assert await sessions("viewer of A", "") == [second.session, first.session]
    assert await sessions("service of A", "?topic=orders") == [first.session]
    assert await sessions("viewer of A", "?type=notification") == [second.session]
    assert await sessions("viewer of A", "?service=Aster/Public") == []
    assert await sessions("operator", "") == [second.session, first.session]
    assert await sessions("viewer of A", "?box=received") == []
    assert await sessions("owner of B", "?box=received&state=queued") == [second.session, first.session]
    assert await sessions("owner of B", "?box=received&state=delivered") == []
    assert await sessions("public of B", "?box=received&topic=news") == [second.session]
    assert await sessions("service of B", "?box=received") == []
    [refused] = (await asked.ask("viewer of A", "GET", "/v1/messages?box=refused")).json()["items"]
    assert (refused["code"], refused["handle"]) == ("recipient.unknown", "h7")
    status = await asked.ask("viewer of A", "GET", f"/v1/messages/{refused['session']}")
    assert (status.json()["state"], status.json()["code"]) == ("refused", "recipient.unknown")
    assert (await asked.ask("owner of B", "GET", f"/v1/messages/{refused['session']}")).status_code == 404


@pytest.mark.parametrize(
    "query", ["state=queued", "box=sent&state=delivered", "box=refused&topic=x", "box=refused&type=request"]
)
async def test_filters_that_cannot_find_anything_are_refused(asked: Asked, query: str) -> None:
    response = await asked.ask("owner of A", "GET", f"/v1/messages?{query}")
    assert (response.status_code, response.json()["code"]) == (422, "value.invalid")


async def test_pages_of_messages_follow_each_other(asked: Asked) -> None:
    posted = [(await post(asked, f"topic {number % 3}")).session for number in range(11)]
    seen: list[str] = []
    path = "/v1/messages?limit=2&topic=topic%201"
    while path:
        page = await asked.ask("owner of A", "GET", path)
        seen += [item["session"] for item in page.json()["items"]]
        path = page.headers.get("link", "").partition(">")[0][1:]
    assert seen == [session for number, session in reversed(list(enumerate(posted))) if number % 3 == 1]


@pytest.mark.req("N7", "Z5")
async def test_a_cursor_shows_no_number_of_a_delivery(asked: Asked) -> None:
    """Whoever is kept from a sender could tell by the number what else was posted together."""
    receiver = await public_of_b(asked)
    await post(asked, "1")
    await post(asked, "2")
    numbers = [
        int(one.token.partition(".")[0], 16) for one in await asked.running.network.poll(receiver, PollRequest())
    ]
    page = (await asked.ask("public of B", "GET", "/v1/messages?box=received&limit=1")).json()
    raw = urlsafe_b64decode(page["next"] + "=" * (-len(page["next"]) % 4))
    assert not [number for number in numbers if str(number).encode() in raw]


@pytest.mark.req("M3")
async def test_parts_are_files_that_no_browser_runs(asked: Asked) -> None:
    posted = await post(asked)
    order = await asked.ask("owner of B", "GET", f"/v1/messages/{posted.session}/parts/order")
    assert (order.content, order.headers["content-type"]) == (b"<order>7</order>", "text/plain; charset=utf-8")
    scan = await asked.ask("owner of A", "GET", f"/v1/messages/{posted.session}/parts/scan")
    assert (scan.content, scan.headers["content-type"]) == (b"\x89PNG\x00", "application/octet-stream")
    for response in (order, scan):
        assert response.headers["content-disposition"].startswith("attachment")
        assert response.headers["x-content-type-options"] == "nosniff"
    assert (await asked.ask("owner of A", "GET", f"/v1/messages/{posted.session}/parts/none")).status_code == 404


async def test_status_shows_ones_own_queues(asked: Asked) -> None:
    await post(asked)
    await post(asked)
    own = (await asked.ask("owner of B", "GET", "/v1/status")).json()
    assert {item["service"]: item["waiting"] for item in own["queues"]} == {"Birch/Private": 0, "Birch/Public": 2}
    assert own["behind"] == 0
    assert (own["journal"], own["index"], own["directory"]) == (0, 0, 0), "they count what everybody does"
    others = (await asked.ask("owner of A", "GET", "/v1/status")).json()
    assert {item["service"] for item in others["queues"]} == {"Aster/Private", "Aster/Public"}
    everything = (await asked.ask("operator", "GET", "/v1/status")).json()
    assert len(everything["queues"]) == 4
    assert min(everything["journal"], everything["index"], everything["directory"]) > 0


@pytest.mark.req("Z5")
async def test_numbers_of_journal_entries_are_for_operators(asked: Asked) -> None:
    """Else every member could count the messages of the whole network."""
    posted = await post(asked)

    async def counters(who: str) -> set[int]:
        found = (await asked.ask(who, "GET", f"/v1/messages/{posted.session}/trace")).json()["messages"]
        events = [
            event for one in found for copy in one["copies"] for stop in copy["stops"] for event in stop["events"]
        ]
        path = f"/v1/messages/{posted.session}/explanation"
        explained = (await asked.ask(who, "GET", path)).json()["directory"]
        numbers = {number for one in found for number in (one["seq"], one["directory"])} | {
            one["seq"] for one in events
        }
        return numbers | {explained}

    assert await counters("owner of A") == await counters("owner of B") == {0}
    assert min(await counters("operator")) > 0


@pytest.mark.req("Z5")
@pytest.mark.parametrize(
    "path", ["/v1/messages/{session}", "/v1/messages/{session}/trace", "/v1/dead-letters/{number}"]
)
async def test_what_others_have_is_not_found_as_slowly_as_what_does_not_exist(asked: Asked, path: str) -> None:
    """The answer waits for a fixed time, which is some times what looking it up takes."""
    posted = await post(asked)
    asked.keys["stranger"] = await asked.running.key_for(
        await asked.running.enroll("e@elm.example", organization="Elm")
    )
    for session, number in ((posted.session, 1 << 16), ("0" * 32, 1 << 40)):
        began = asyncio.get_running_loop().time()
        answer = await asked.ask("stranger", "GET", path.format(session=session, number=number))
        assert answer.status_code == 404
        assert asyncio.get_running_loop().time() - began >= ABSENT_S
