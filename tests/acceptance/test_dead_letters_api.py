"""Dead letters over HTTP: lists, groups, details, resending and dropping; and that others learn nothing of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroad.core.model.directory import Accepts, Visibility
from postroad.core.model.journal import DeliveriesEnded
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.flow.access.authenticate import Proof
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import JournalStep
from tests.acceptance.asking import Asked, asked_network

LETTERS = "/v1/dead-letters"
NOT_ACKNOWLEDGED = "handed out 20 times without being acknowledged"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def failed(asked: Asked, *, sender: str = "service of B", to: str = "Birch/Public", **more: Any) -> int:
    """The number of a new dead letter."""
    network = asked.running.network
    caller = await asked.running.authenticator.authenticate(Proof(f"Bearer {asked.keys[sender]}".encode()), "test")
    part = Part(id="1", content_type="text/plain", data=b"secret payload")
    message = Message(to=(Recipient(to),), type=MessageType.NOTIFICATION, parts=(part,), **more)
    posted = await network.post(caller, message)
    history = await network.trace(posted.session, None)
    assert history is not None
    number = history.messages[0].copies[0].stops[0].delivery
    entry = DeliveriesEnded(network.clock.now_us(), "network", "failed", NOT_ACKNOWLEDGED, (number,))
    await commit_step(network.desk, JournalStep(entry, reserve=True, waiting=(number,)))
    return number


@pytest.mark.req("D7", "Z5")
@pytest.mark.parametrize("who", ["service of A", "viewer of A", "developer of A", "owner of A"])
async def test_others_learn_nothing_of_a_dead_letter(asked: Asked, who: str) -> None:
    number = await failed(asked, topic="hush")
    absent = number + 65_536 * 1000
    for method, path, body in (
        ("GET", "/{}", None),
        ("POST", "/{}/resend", {}),
        ("POST", "/{}/drop", {"reason": "x"}),
    ):
        one = await asked.ask(who, method, LETTERS + path.format(number), body)
        other = await asked.ask(who, method, LETTERS + path.format(absent), body)
        assert (one.status_code, one.text) == (other.status_code, other.text)
        assert one.status_code in (403, 404)
    for query in ("", "?service=Birch/Public", "?sender=Birch/Private", "?topic=hush", "?cause=not-acknowledged"):
        for path in ("", "/groups"):
            found = await asked.ask(who, "GET", LETTERS + path + query)
            assert (found.status_code, found.json()["items"]) == (200, []), query
    if who in ("developer of A", "owner of A"):
        for action in ("resend", "drop"):
            found = await asked.ask(who, "POST", f"{LETTERS}/{action}", {"topic": "hush", "reason": "x"})
            assert found.json() == {"items": []}
    assert (await asked.ask("owner of B", "GET", LETTERS)).json()["items"][0]["delivery"] == number


@pytest.mark.req("D7")
async def test_letters_are_listed_page_by_page_and_told_whole(asked: Asked) -> None:
    numbers = [await failed(asked, topic="orders", handle=f"h{place}") for place in range(5)]
    page = (await asked.ask("owner of B", "GET", f"{LETTERS}?limit=2&topic=orders")).json()
    seen = [item["delivery"] for item in page["items"]]
    while "next" in page:
        page = (await asked.ask("owner of B", "GET", f"{LETTERS}?limit=2&topic=orders&cursor={page['next']}")).json()
        seen += [item["delivery"] for item in page["items"]]
    assert seen == numbers
    details = (await asked.ask("owner of B", "GET", f"{LETTERS}/{numbers[0]}")).json()
    assert (details["service"], details["from"]) == ("Birch/Public", "Birch/Private")
    assert (details["cause"], details["reason"], details["open"]) == ("not-acknowledged", NOT_ACKNOWLEDGED, True)
    assert [event["what"] for event in details["events"]] == ["failed"]
    assert details["parts"] == [{"id": "1", "contentType": "text/plain", "size": 14, "attachment": False}]
    [group] = (await asked.ask("owner of B", "GET", f"{LETTERS}/groups")).json()["items"]
    assert (group["count"], group["example"], group["cause"]) == (5, numbers[-1], "not-acknowledged")
    part = f"/v1/messages/{details['session']}/stops/{numbers[0]}/parts/1"
    assert (await asked.ask("owner of B", "GET", part, accept="text/plain")).text == "secret payload"


@pytest.mark.req("D7")
async def test_one_is_resent_and_then_it_is_too_late(asked: Asked) -> None:
    number = await failed(asked)
    resent = await asked.ask("owner of B", "POST", f"{LETTERS}/{number}/resend", {"reason": "mended"})
    assert resent.status_code == 200
    assert resent.json()["delivery"] > number
    for path, body in (("resend", {}), ("drop", {"reason": "x"})):
        again = await asked.ask("owner of B", "POST", f"{LETTERS}/{number}/{path}", body)
        assert (again.status_code, again.json()["code"]) == (409, "dead-letter.dealt")
    details = (await asked.ask("owner of B", "GET", f"{LETTERS}/{number}")).json()
    assert details["open"] is False
    assert [event["what"] for event in details["events"]] == ["failed", "resent"]


@pytest.mark.req("D7")
async def test_many_are_counted_first_and_then_resent_a_page_at_a_time(asked: Asked) -> None:
    numbers = [await failed(asked, topic="orders") for _ in range(5)]
    other = await failed(asked, topic="bills")
    wish = {"topic": "orders", "limit": 2, "reason": "mended"}
    dry = (await asked.ask("owner of B", "POST", f"{LETTERS}/resend", wish | {"dryRun": True})).json()
    assert (dry["matches"], dry["complete"], len(dry["sample"])) == (5, True, 5)
    resent: list[int] = []
    cursor = ""
    while True:
        page = (await asked.ask("owner of B", "POST", f"{LETTERS}/resend", wish | {"cursor": cursor})).json()
        assert len(page["items"]) <= 2
        resent += [item["letter"] for item in page["items"]]
        if "next" not in page:
            break
        cursor = page["next"]
    assert resent == numbers
    [left] = (await asked.ask("owner of B", "GET", LETTERS)).json()["items"]
    assert left["delivery"] == other
    stolen = await asked.ask("operator", "POST", f"{LETTERS}/resend", wish | {"cursor": cursor})
    assert (stolen.status_code, stolen.json()["code"]) == (400, "cursor.invalid")


async def test_dropping_many_wants_a_reason_and_says_which(asked: Asked) -> None:
    await failed(asked)
    for body in (
        {"all": True},
        {"reason": "x"},
        {"reason": "x", "all": True, "topic": "t"},
        {"reason": "", "all": True},
    ):
        refused = await asked.ask("owner of B", "POST", f"{LETTERS}/drop", body)
        assert refused.status_code == 422, body
    dropped = await asked.ask("owner of B", "POST", f"{LETTERS}/drop", {"all": True, "reason": "a test"})
    assert [item["code"] for item in dropped.json()["items"]] == [""]


@pytest.mark.parametrize(
    "query", ["since=yesterday", "until=2026-02-30T00:00:00Z", "cause=magic", "unknown=1", "limit=0"]
)
async def test_a_filter_that_means_nothing_is_refused(asked: Asked, query: str) -> None:
    assert (await asked.ask("owner of B", "GET", f"{LETTERS}?{query}")).status_code == 422


@pytest.mark.req("D7", "N7", "Z5")
async def test_a_letter_of_one_organization_at_another_belongs_to_both(asked: Asked) -> None:
    """And an operator sees that and how, but not what."""
    seller = await asked.running.register("Cedar/Shop", visibility=Visibility.PUBLIC, accepts=Accepts.ANYONE)
    person = await asked.running.enroll("dev@cedar.example", organization="Cedar")
    asked.keys["cedar"] = await asked.running.key_for(person)
    number = await failed(asked, to="Cedar/Shop")
    for who in ("cedar", "owner of B", "operator"):
        [letter] = (await asked.ask(who, "GET", LETTERS)).json()["items"]
        assert letter["delivery"] == number
    assert (await asked.ask("operator", "GET", f"{LETTERS}/{number}")).json()["parts"] == []
    assert (await asked.ask("cedar", "POST", f"{LETTERS}/{number}/resend", {"reason": "ours"})).status_code == 200
    [again] = await asked.running.network.poll(seller, PollRequest())
    assert again.parts[0].data == b"secret payload"
    details = (await asked.ask("owner of B", "GET", f"{LETTERS}/{number}")).json()
    assert (details["events"][-1]["by"], details["events"][-1]["detail"]) == ("another party", "")
