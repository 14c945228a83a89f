"""Batches over HTTP: which there are, why they have not gone, what is in them and what became of them; and for whom."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator

import pytest
from httpx2 import Response
from msgspec.structs import replace

from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.interchange import AnsweredMember
from postroad.flow.access.authenticate import Proof
from postroad.flow.registries.configuration import build_save
from tests.acceptance.asking import Asked, asked_network
from tests.acceptance.gathered import Gathering, gathering

BATCHES = "/v1/batches"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def caller(asked: Asked, who: str) -> Caller:
    return await asked.running.authenticator.authenticate(Proof(f"Bearer {asked.keys[who]}".encode()), "test")


async def gathered_in_birch(asked: Asked, sender: str = "service of B", count: int = 3) -> Gathering:
    return await gathering(asked.running, "Birch", await caller(asked, sender), count)


@pytest.mark.req("B5")
async def test_an_open_batch_says_what_it_has_and_what_it_waits_for(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    [listed] = (await asked.ask("owner of B", "GET", BATCHES)).json()["items"]
    assert (listed["id"], listed["service"], listed["state"]) == (gathered.id, "Birch/batched", "open")
    assert (listed["members"], listed["bytes"], listed["key"], listed["kind"]) == (3, 42, ["north"], "850")
    assert listed["nearest"]["criterion"] == "age"
    assert listed["nearest"]["told"].endswith("3600 s after its first message")
    response = await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")
    assert response.headers["etag"] == f'"{gathered.batch.version}"'
    found = response.json()
    assert {name: found[name] for name in listed if name != "nearest"} == {
        name: value for name, value in listed.items() if name != "nearest"
    }
    count, age = found["criteria"]
    assert (count["criterion"], count["share"], count["told"], count["at"]) == (
        "count",
        0.75,
        "3 of 4 messages",
        None,
    )
    assert (age["criterion"], age["share"] < 0.1, age["at"] is not None) == ("age", True, True)
    assert (found["sending"], found["numbers"], found["answers"]) == (None, [], [])


@pytest.mark.req("B5")
async def test_members_come_page_by_page_in_the_order_of_arrival(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    path = f"{BATCHES}/{gathered.id}/members?limit=2"
    page = (await asked.ask("owner of B", "GET", path)).json()
    rest = (await asked.ask("owner of B", "GET", f"{path}&cursor={page['next']}")).json()
    items = page["items"] + rest["items"]
    assert "next" not in rest
    assert [item["session"] for item in items] == gathered.sessions
    assert [item["delivery"] for item in items] == gathered.deliveries
    assert {(item["from"], item["kind"], item["bytes"], item["state"], item["inBatch"]) for item in items} == {
        ("Birch/Private", "850", 14, "queued", True)
    }


@pytest.mark.req("B5", "B7")
async def test_a_batch_that_was_sent_says_by_which_numbers_and_what_the_partner_says(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    await gathered.close()
    session = await gathered.assemble()
    shown = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")).json()
    assert (shown["state"], shown["closedBy"], shown["interchange"], shown["standard"]) == (
        "assembled",
        "count",
        session,
        "x12",
    )
    assert shown["numbers"] == [
        {"scope": "interchange", "first": 42, "last": 42},
        {"scope": "group", "first": 7, "last": 7},
    ]
    sending = shown["sending"]
    assert (sending["recipient"], sending["state"], sending["attempts"]) == ("Birch/partner", "queued", 0)
    await gathered.send()
    await gathered.answer("accepted", AnsweredMember(gathered.deliveries[1], "rejected", ("no price",)))
    shown = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")).json()
    [answer] = shown["answers"]
    assert (shown["state"], answer["verdict"], answer["otherwise"]) == ("sent", "accepted", 1)
    items = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}/members")).json()["items"]
    assert [(item["document"], item["verdict"], item["reasons"]) for item in items] == [
        ("0000", "accepted", []),
        ("0001", "rejected", ["no price"]),
        ("0002", "accepted", []),
    ]


@pytest.mark.req("B5")
async def test_lists_are_of_what_is_still_to_be_sent_unless_a_state_is_named(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    await gathered.suspend("the network stopped without warning")
    queries = {"": 1, "?state=suspended": 1, "?state=open": 0, "?state=sent": 0, "?state=all&service=Birch/batched": 1}
    for who in ("owner of B", "operator"):
        for query, count in queries.items():
            page = (await asked.ask(who, "GET", BATCHES + query)).json()
            assert len(page["items"]) == count, (who, query)
    [batch] = (await asked.ask("owner of B", "GET", BATCHES)).json()["items"]
    assert batch["nearest"]["told"] == "it is suspended: the network stopped without warning; resume or drop it"
    assert (await asked.ask("owner of B", "GET", f"{BATCHES}?state=old")).status_code == 422


@pytest.mark.req("B8")
async def test_a_complete_batch_names_the_one_that_goes_before_it(asked: Asked) -> None:
    first = await gathering(asked.running, "Birch", await caller(asked, "service of B"), 1, ordered=True)
    await first.close()
    await first.suspend("no route")
    second = await first.another(2)
    third = await first.another(1)
    await second.close()
    waits = (await asked.ask("owner of B", "GET", f"{BATCHES}/{second.id}")).json()["nearest"]
    assert (waits["criterion"], waits["told"]) == (
        None,
        f"it is complete; batch {first.id}, which is suspended, is sent before it",
    )
    assert third.id not in waits["told"]
    alone = (await asked.ask("owner of B", "GET", f"{BATCHES}/{first.id}")).json()["nearest"]
    assert alone["told"] == "it is suspended: no route; resume or drop it"


async def test_lists_go_on_where_a_page_ended(asked: Asked) -> None:
    ids = []
    for house in ("Birch", "Cedar"):
        gathered = await gathering(asked.running, house, await caller(asked, "service of B"), 1)
        ids.append(gathered.id)
    for state in ("", "all"):
        page = (await asked.ask("operator", "GET", f"{BATCHES}?limit=1&state={state}")).json()
        rest = (await asked.ask("operator", "GET", f"{BATCHES}?limit=1&state={state}&cursor={page['next']}")).json()
        assert sorted(item["id"] for item in page["items"] + rest["items"]) == sorted(ids)


@pytest.mark.req("B5", "Z5")
@pytest.mark.parametrize("who", ["service of A", "viewer of A", "developer of A", "owner of A"])
async def test_others_learn_nothing_of_a_batch_even_if_they_have_sent_to_it(asked: Asked, who: str) -> None:
    gathered = await gathered_in_birch(asked, "service of A")
    for path in ("", "/members"):
        one = await asked.ask(who, "GET", f"{BATCHES}/{gathered.id}{path}")
        other = await asked.ask(who, "GET", f"{BATCHES}/{'0' * 20}{path}")
        assert (one.status_code, one.text) == (404, other.text)
    assert (await asked.ask(who, "GET", BATCHES)).json()["items"] == []
    assert (await asked.ask(who, "GET", f"{BATCHES}?state=all")).json()["items"] == []
    assert (await asked.ask(who, "GET", f"{BATCHES}?service=Birch/batched")).status_code == 404


@pytest.mark.req("B7", "Z5")
async def test_who_sent_a_member_follows_it_and_it_alone(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked, "service of A")
    status = (await asked.ask("owner of A", "GET", f"/v1/messages/{gathered.sessions[0]}")).json()
    assert status["recipients"][0]["inWords"] == (
        f"gathered by Birch/batched in batch {gathered.id}, which is still open"
    )
    await gathered.close()
    session = await gathered.assemble()
    await gathered.send()
    await gathered.answer("accepted", AnsweredMember(gathered.deliveries[1], "rejected", ("no price",)))
    trace = await asked.ask("owner of A", "GET", f"/v1/messages/{gathered.sessions[0]}/trace")
    [stop] = trace.json()["messages"][0]["copies"][0]["stops"]
    assert stop["gathered"] == {
        "batch": gathered.id,
        "state": "sent",
        "interchange": session,
        "reference": "000000042",
        "document": "0000",
        "verdict": "accepted",
        "reasons": [],
    }
    assert [event["what"] for event in stop["events"]] == ["gathered", "sent"]
    assert not [other for other in gathered.sessions[1:] if other in trace.text]
    assert "no price" not in trace.text
    assert (await asked.ask("owner of A", "GET", f"/v1/messages/{session}/trace")).status_code == 404
    [message] = (await asked.ask("owner of B", "GET", f"/v1/messages/{session}/trace")).json()["messages"]
    assert (message["contained"]["batch"], message["contained"]["members"]) == (gathered.id, 3)
    assert [answer["verdict"] for answer in message["contained"]["answers"]] == ["accepted"]


async def steered(asked: Asked, gathered: Gathering, action: str, reason: str = "why", **more: str) -> Response:
    return await asked.ask("owner of B", "POST", f"{BATCHES}/{gathered.id}/{action}", {"reason": reason}, **more)


@pytest.mark.req("B5")
async def test_a_batch_is_paused_resumed_and_released(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    held = (await steered(asked, gathered, "pause")).json()
    assert (held["state"], held["held"], held["version"]) == ("open", True, gathered.batch.version + 1)
    assert held["nearest"]["told"].endswith("then it waits, because it is paused")
    assert (await steered(asked, gathered, "resume")).json()["held"] is False
    released = await steered(asked, gathered, "release")
    assert (released.json()["state"], released.json()["closedBy"]) == ("closed", "request")
    assert released.headers["etag"] == f'"{gathered.batch.version + 3}"'
    assert [(one["what"], one["by"], one["messages"], one["detail"]) for one in released.json()["changes"]] == [
        ("joined", "Birch/batched", 3, ""),
        ("held", "owner@birch.example", 0, "why"),
        ("let go", "owner@birch.example", 0, "why"),
        ("closed", "owner@birch.example", 0, "why"),
    ]
    refused = await steered(asked, gathered, "drop")
    assert (refused.status_code, refused.json()["code"]) == (409, "batch.state")


@pytest.mark.req("B5")
async def test_who_insists_on_a_version_acts_on_no_other(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    read = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")).headers["etag"]
    assert (await steered(asked, gathered, "pause", match=read)).status_code == 200
    late = await steered(asked, gathered, "resume", match=read)
    assert (late.status_code, late.json()["code"]) == (412, "version.conflict")
    assert (await steered(asked, gathered, "resume", match="*")).json()["held"] is False


@pytest.mark.req("B5", "D7")
async def test_a_removed_message_is_a_dead_letter_and_the_others_stay(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    left = (await steered(asked, gathered, f"members/{gathered.deliveries[1]}/remove", "ordered twice")).json()
    assert (left["members"], left["bytes"], left["state"]) == (2, 28, "open")
    items = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}/members")).json()["items"]
    assert [(item["state"], item["inBatch"]) for item in items] == [
        ("queued", True),
        ("failed", False),
        ("queued", True),
    ]
    [letter] = (await asked.ask("owner of B", "GET", "/v1/dead-letters")).json()["items"]
    assert (letter["delivery"], letter["session"]) == (gathered.deliveries[1], gathered.sessions[1])
    assert "ordered twice" in letter["reason"]
    again = await steered(asked, gathered, f"members/{gathered.deliveries[1]}/remove", "ordered twice")
    assert again.status_code == 404
    assert (await steered(asked, gathered, f"members/{gathered.deliveries[0]}/remove", "")).status_code == 422


@pytest.mark.req("B5")
async def test_the_old_names_of_actions_still_work(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    assert (await steered(asked, gathered, "hold")).json()["held"] is True
    assert (await steered(asked, gathered, "let-go")).json()["held"] is False
    assert (await steered(asked, gathered, "let-go")).json()["held"] is False
    left = await steered(asked, gathered, f"members/{gathered.deliveries[1]}/take-out", "ordered twice")
    assert left.json()["members"] == 2


@pytest.mark.req("B5", "D7")
async def test_a_suspended_batch_is_resumed_or_dropped(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    await gathered.close()
    await gathered.suspend("no route")
    assert (await steered(asked, gathered, "resume")).json()["state"] == "closed"
    again = gathered.batch.version + 1
    gathered.batch = replace(gathered.batch, state=BatchState.CLOSED, version=again)
    await gathered.suspend("no route")
    dropped = (await steered(asked, gathered, "drop", "sent by fax instead")).json()
    assert dropped["state"] == "dropped"
    letters = (await asked.ask("owner of B", "GET", "/v1/dead-letters")).json()["items"]
    assert [letter["delivery"] for letter in letters] == gathered.deliveries
    assert (await asked.ask("owner of B", "GET", BATCHES)).json()["items"] == []
    assert len((await asked.ask("owner of B", "GET", f"{BATCHES}?state=dropped")).json()["items"]) == 1


@pytest.mark.req("B5", "Z5")
@pytest.mark.parametrize("who", ["developer of A", "owner of A"])
async def test_others_steer_no_batch_even_if_they_have_sent_to_it(asked: Asked, who: str) -> None:
    gathered = await gathered_in_birch(asked, "service of A")
    for action in ("release", "pause", "resume", "drop", f"members/{gathered.deliveries[0]}/remove"):
        found = await asked.ask(who, "POST", f"{BATCHES}/{gathered.id}/{action}", {"reason": "mine"}, match='"1"')
        assert found.status_code == 404
    shown = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")).json()
    assert (shown["version"], shown["members"]) == (gathered.batch.version, 3)


@pytest.mark.req("B5")
async def test_a_batch_whose_service_gathers_no_more_says_so_and_can_be_dropped(asked: Asked) -> None:
    gathered = await gathered_in_birch(asked)
    service = gathered.batcher.service
    assert service is not None
    former = dataclasses.replace(service, hosted=Hosting.NONE, batching=None)
    await asked.running.network.configuration.change("test", [build_save(former)])
    shown = (await asked.ask("owner of B", "GET", f"{BATCHES}/{gathered.id}")).json()
    assert shown["nearest"]["told"].startswith("its service is no longer a batcher")
    assert shown["criteria"] == []
    for who in ("owner of B", "operator"):
        assert [one["id"] for one in (await asked.ask(who, "GET", BATCHES)).json()["items"]] == [gathered.id], who
    dropped = await steered(asked, gathered, "drop", "the partner has left us")
    assert (dropped.status_code, dropped.json().get("state")) == (200, "dropped")
