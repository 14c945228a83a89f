"""``postroad dead-letters`` and the SDK against a real server: what failed is found, resent after a restart, or dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Access, AsyncClient, Delivered, Refused, Reply, Status
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded

BUYER, STAMPER, SELLER = "MyBiz/Purchasing", "Stamps/Stamper", "Acme/Supply"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("letters") / "data") as running:
        running.register(BUYER, STAMPER, SELLER)
        yield running


def fail(network: Served, topic: str, count: int = 1) -> list[str]:
    """Messages that a service on the way answers with an error."""
    with network.client(BUYER) as buyer, network.client(STAMPER) as stamper:
        posted = [buyer.post(to=SELLER, route=[STAMPER], document="<o/>", topic=topic) for _ in range(count)]
        for _ in range(count):
            [message] = stamper.poll(1, wait_s=20)
            stamper.reply(message, Reply(status=Status("no-ink", "the pad is dry")))
    return [one.session for one in posted]


def run(network: Served, *arguments: str | Path) -> str:
    return succeeded("dead-letters", *arguments, "--data", network.data)


def listed(network: Served, *arguments: str) -> list[Any]:
    return json_lines(run(network, "list", "--json", *arguments))


@pytest.mark.req("D7", "K2")
def test_what_failed_is_found_grouped_and_shown(network: Served) -> None:
    [session] = fail(network, "orders")
    [letter] = listed(network, "--topic", "orders")
    assert (letter["session"], letter["service"], letter["cause"]) == (session, STAMPER, "failed-in-transit")
    assert [one["delivery"] for one in listed(network, "--since", "1h", "--from", BUYER, "--service", STAMPER)] == [
        letter["delivery"]
    ]
    assert listed(network, "--until", "1h") == []
    assert STAMPER in run(network, "list")
    groups = run(network, "groups", "--topic", "orders")
    assert "failed-in-transit" in groups
    assert letter["failedAt"] in groups
    shown = run(network, "show", str(letter["delivery"]))
    assert "answered no-ink the pad is dry" in shown
    assert json.loads(run(network, "show", str(letter["delivery"]), "--json"))["open"] is True
    assert "resent as" in run(network, "resend", str(letter["delivery"]), "--reason", "new ink")
    again = postroad("dead-letters", "resend", str(letter["delivery"]), "--data", network.data)
    assert (again.returncode, "dead-letter.dealt" in again.stderr) == (3, True)
    with network.client(STAMPER) as stamper, network.client(SELLER) as seller:
        [message] = stamper.poll(1, wait_s=20)
        assert message.session == session
        stamper.reply(message, "<o stamped='yes'/>")
        [stamped] = seller.poll(1, wait_s=20)
        assert stamped.session == session
        seller.acknowledge(stamped)
    assert "delivered" in succeeded("trace", session, "--data", network.data)


@pytest.mark.req("D7", "A2")
def test_many_are_resent_after_a_death_and_a_new_index(network: Served) -> None:
    sessions = fail(network, "bulk", 12)
    network.end(9)
    index = network.data / "index.sqlite"
    for file in network.data.glob("index.sqlite*"):
        file.unlink()
    network.start()
    assert index.exists()
    dry = run(network, "resend", "--topic", "bulk", "--dry-run")
    assert "12 would be resent" in dry
    assert len(listed(network, "--topic", "bulk")) == 12
    dealt = json_lines(run(network, "resend", "--topic", "bulk", "--rate", "200", "--reason", "mended", "--json"))
    assert len(dealt) == 12
    assert all(one["delivery"] for one in dealt)
    assert listed(network, "--topic", "bulk") == []
    with network.client(STAMPER) as stamper:
        again: list[Delivered] = []
        while len(again) < 12:
            again += stamper.poll(100, wait_s=20)
    assert [message.session for message in again] == sessions, "in the order in which they had failed"


@pytest.mark.req("D7")
def test_many_are_dropped_with_a_reason_that_stays(network: Served) -> None:
    [session, _] = fail(network, "spoilt", 2)
    for arguments in (("--topic", "spoilt"), ("--reason", "x"), ("--reason", "x", "--all", "--topic", "spoilt")):
        wrong = postroad("dead-letters", "drop", *arguments, "--data", network.data)
        assert wrong.returncode == 2, wrong.stdout
    assert run(network, "drop", "--topic", "spoilt", "--reason", "a rehearsal").strip() == "2 dropped"
    assert "a rehearsal" in succeeded("trace", session, "--data", network.data)
    assert "No dead letters." in run(network, "list", "--topic", "spoilt")


def test_the_asynchronous_client_deals_with_them_too(network: Served) -> None:
    fail(network, "async", 3)
    key = (network.data / "operator.key").read_text().strip()

    async def work() -> None:
        async with AsyncClient(access=Access.with_key(network.url, key)) as client:
            letters = client.dead_letters
            first, second, third = [one["delivery"] for one in await letters.list(topic="async")]
            assert (await letters.letter(first))["topic"] == "async"
            assert (await letters.groups(topic="async"))[0]["count"] == 3
            assert (await letters.count(topic="async"))["matches"] == 3
            assert await letters.resend(first, reason="x") > third
            await letters.drop(second, "x")
            assert [one.letter for one in await letters.resend_many(topic="async", rate=100)] == [third]
            assert await letters.drop_many("x", topic="async") == []
            with pytest.raises(Refused):
                await letters.drop(second, "x")

    asyncio.run(work())
