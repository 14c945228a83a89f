"""Bindings on a real server with the real engine: made, tried, explained and removed by their owners, while messages flow."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from postroad.cli.main import postroad as program
from postroad.client import AsyncClient, Client, Delivered, Part, Refused, message
from postroad.core.resources.bindings import BindingExplanation, ListedBinding
from tests.samples.served_network import Served, json_lines, served, succeeded
from tests.source_tree import ROOT
from tests.waiting import eventually

EXAMPLE = ROOT / "examples" / "exchange"
EXCHANGE = "Acme/Orders"
WAIT_S = 60.0
ORDER = (EXAMPLE / "order.xml").read_text()
LARGE = '<order id="1"><region>south</region><total>9000</total></order>'


class ExchangeExample:
    """The example's network, and everybody in it."""

    def __init__(self, network: Served) -> None:
        self.network = network
        self.data = network.data

    def client(self, who: str) -> Client:
        return Client(self.network.url, key_file=self.data / f"{who}.key")

    def run(self, *words: str | Path, who: str = "") -> str:
        """The output of a command that must succeed."""
        done = self.does(*words, who=who)
        assert done.exit_code == 0, (words, done.exit_code, done.output)
        return done.stdout

    def refused(self, *words: str | Path, who: str = "") -> str:
        done = self.does(*words, who=who)
        assert done.exit_code == 3, (words, done.exit_code, done.output)
        return done.stderr

    def does(self, *words: str | Path, who: str = "") -> Result:
        """A command, run in this process: a program of its own for each takes longer than all the rest."""
        key = ("--key-file", self.data / f"{who}.key") if who else ()
        return CliRunner().invoke(program, [str(word) for word in (*words, "--data", self.data, *key)])

    def post(self, document: Any, **more: Any) -> None:
        with self.client("mybiz") as sender:
            sender.post(to=EXCHANGE, document=document, **more)

    def got(self, who: str, most: int = 1) -> list[Delivered]:
        """So many messages as they come, acknowledged."""
        found: list[Delivered] = []
        with self.client(who) as receiver:
            while len(found) < most:
                polled = receiver.poll(most - len(found), wait_s=WAIT_S)
                assert polled, f"{who} got {len(found)} of {most}"
                receiver.acknowledge(*polled)
                found += polled
        return found

    def has_nothing(self, who: str) -> bool:
        with self.client(who) as receiver:
            return receiver.poll(1) == []

    def state(self, name: str) -> BindingExplanation:
        with self.client("operator") as client:
            return client.bindings.explain(EXCHANGE, name)

    def listed(self) -> list[ListedBinding]:
        with self.client("operator") as client:
            return client.bindings.list(EXCHANGE)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExchangeExample]:
    folder = tmp_path_factory.mktemp("exchange")
    shutil.copytree(EXAMPLE, folder / "examples" / "exchange")
    (folder / "var").mkdir()
    with served(folder / "var" / "exchange") as running:
        file = folder / "examples" / "exchange" / "network.yaml"
        succeeded("apply", file, "--yes", "--make-keys", "--data", running.data)
        yield ExchangeExample(running)


@pytest.mark.req("X1", "X2", "X3", "X4")
def test_the_example_sends_each_order_to_the_desks_that_want_it(example: ExchangeExample) -> None:
    example.post(ORDER, topic="orders")
    example.post(LARGE, properties={"urgent": True})
    [north] = example.got("north")
    assert (north.sender, north.parts[0].data.decode()) == ("MyBiz/Purchasing", ORDER)
    [slip] = example.got("warehouse")
    assert slip.parts[0].data.decode() == (
        '<slip order="4711"><pick sku="A-1" quantity="10"/><pick sku="B-2" quantity="3"/></slip>'
    )
    [large] = example.got("key-accounts")  # wanted by two bindings, which want the same: one copy
    assert large.parts[0].data.decode() == LARGE
    assert all(example.has_nothing(who) for who in ("north", "key-accounts"))
    eventually(lambda: example.state("urgent")["matched"] == example.state("large")["matched"] == 1)


@pytest.mark.req("X1", "X10", "K2")
def test_a_queue_is_bound_and_unbound_from_the_command_line(example: ExchangeExample, tmp_path: Path) -> None:
    query = tmp_path / "json.xq"
    query.write_text("$msg?order?region = 'west'")
    bound = example.run("bind", EXCHANGE, "Auditors/Archive", "--query", f"@{query}", "--name", "west", who="auditors")
    assert "west: Auditors/Archive bound to Acme/Orders (version 1)" in bound
    example.post({"order": {"region": "west"}})
    example.post({"order": {"region": "east"}})
    [west] = example.got("auditors")
    assert json.loads(west.parts[0].data) == {"order": {"region": "west"}}
    shown = yaml.safe_load(example.run("bindings", "show", EXCHANGE, "west", who="auditors"))
    assert shown == {"west": {"queue": "Auditors/Archive", "query": query.read_text(), "enabled": True}}
    assert "shared: ?order?region = 'west'" in example.run("bindings", "explain", EXCHANGE, "west", who="auditors")
    assert "west: off" in example.run("bindings", "disable", EXCHANGE, "west", who="auditors")
    assert "disabled" in example.run("bindings", EXCHANGE, who="auditors")
    assert "west: on" in example.run("bindings", "enable", EXCHANGE, "west", who="auditors")
    with example.client("auditors") as auditors:
        binding = auditors.bindings.binding(EXCHANGE, "west")
    assert (binding["version"], binding["enabled"], binding["query"]) == (3, True, query.read_text())
    off = example.run("bind", EXCHANGE, "Auditors/Archive", "--name", "west", "--off", who="auditors")
    assert "version 4, disabled" in off
    assert "removed" in example.run("unbind", EXCHANGE, "west", who="auditors")
    example.post({"order": {"region": "west"}})
    example.post(LARGE)  # the exchange keeps the order: once this has gone through, the one before it has
    example.got("key-accounts")
    assert example.has_nothing("auditors")
    assert "not-found" in example.refused("unbind", EXCHANGE, "west", who="auditors")


@pytest.mark.req("X4")
def test_a_script_decides_too_and_is_installed_and_bound_by_its_name(example: ExchangeExample, tmp_path: Path) -> None:
    script = tmp_path / "heavy.star"
    script.write_text(
        "def route(message):\n    return message.json['weight'] > 5 and {'heavy': message.headers['handle']}\n"
    )
    bind = ("bind", EXCHANGE, "Auditors/Archive", "--name", "heavy", "--routing-key", "parcels")
    example.run(*bind, "--script", f"@{script}", who="auditors")
    for handle, weight in (("light", 5), ("heavy", 6)):
        example.post({"weight": weight}, topic="parcels", handle=handle)
    assert json.loads(example.got("auditors")[0].parts[0].data) == {"heavy": "heavy"}
    example.run("assets", "add", EXCHANGE, "script", script)
    example.run(*bind, "--routing", "heavy", who="auditors")
    example.post({"weight": 7}, topic="parcels", handle="again")
    assert json.loads(example.got("auditors")[0].parts[0].data) == {"heavy": "again"}
    assert "script.invalid" in example.refused(*bind, "--script", "def route(:", who="auditors")
    example.run("assets", "remove", EXCHANGE, "script", "heavy")
    assert example.state("heavy")["explanation"] == "the routing heavy is not installed, so nothing matches"
    example.run("unbind", EXCHANGE, "heavy", who="auditors")


@pytest.mark.req("X1", "X3")
def test_an_error_is_counted_at_its_binding_with_its_text(example: ExchangeExample) -> None:
    query = "xs:integer($msg/order/@id) idiv 0 = 1"
    example.run("bind", EXCHANGE, "Auditors/Archive", "--query", query, "--name", "failing", who="auditors")
    example.post(LARGE)
    example.got("key-accounts")
    eventually(lambda: example.state("failing")["errors"] == 1)
    assert "FOAR0001" in example.state("failing")["lastError"]
    listed = example.run("bindings", EXCHANGE, who="auditors")
    assert "failing: last error at" in listed
    assert "FOAR0001" in listed
    with example.client("auditors") as auditors:
        auditors.bindings.bind(EXCHANGE, "Auditors/Archive", query="$msg/mended", name="failing")
    assert (example.state("failing")["errors"], example.state("failing")["lastError"]) == (0, None)
    example.run("unbind", EXCHANGE, "failing")  # by an operator, for the exchange
    assert example.has_nothing("auditors")


@pytest.mark.req("X1", "X4")
def test_what_cannot_work_is_refused_when_it_is_bound(example: ExchangeExample) -> None:
    binding = ("bind", EXCHANGE, "Auditors/Archive")
    broken = example.refused(*binding, "--query", "\n$msg/order[", who="auditors")
    assert "query.invalid" in broken
    assert "line 2" in broken
    assert "routing.unknown" in example.refused(*binding, "--routing", "no-such", who="auditors")
    assert example.does(*binding, "--query", "1", "--routing", "slip").exit_code == 2
    with example.client("operator") as client:
        assert code_of(lambda: client.bindings.bind(EXCHANGE, "Acme/North", name="a/b")) == "value.invalid"
        assert code_of(lambda: client.bindings.bind("Acme/North", "Acme/Warehouse")) == "configuration.conflict"
        assert code_of(lambda: client.bindings.bind(EXCHANGE, EXCHANGE)) == "value.invalid"
    assert "No bindings." in example.run("bindings", EXCHANGE, who="auditors")


@pytest.mark.req("X1", "Z5")
def test_an_exchange_of_others_is_there_only_for_those_it_is_open_to(example: ExchangeExample) -> None:
    """MyBiz may send to it and knows that it is there; to bind, it is as if it were not."""
    with (
        example.client("mybiz") as mybiz,
        example.client("warehouse") as warehouse,
        example.client("auditors") as auditors,
    ):
        assert code_of(lambda: mybiz.bindings.bind(EXCHANGE, "MyBiz/Purchasing")) == "not-found"
        assert code_of(lambda: mybiz.bindings.list(EXCHANGE)) == "not-found"
        auditors.bindings.bind(EXCHANGE, "Auditors/Archive", routing_key="none", name="own")
        assert [one["name"] for one in auditors.bindings.list(EXCHANGE)] == ["own"]
        assert code_of(lambda: auditors.bindings.explain(EXCHANGE, "north")) == "not-found"
        assert code_of(lambda: warehouse.bindings.bind(EXCHANGE, "Acme/North")) == "permission.denied"
        assert code_of(lambda: warehouse.bindings.unbind(EXCHANGE, "own")) == "not-found"
        assert [one["name"] for one in warehouse.bindings.list(EXCHANGE)] == ["slips"]
        assert "own" in [one["name"] for one in example.listed()]
        auditors.bindings.unbind(EXCHANGE, "own")


def code_of(ask: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        ask()
    return refused.value.code


@pytest.mark.req("C3", "X2")
def test_a_message_is_tried_without_being_sent(example: ExchangeExample, tmp_path: Path) -> None:
    order = tmp_path / "order.xml"
    order.write_text(ORDER)
    tried = example.run("bindings", "try", EXCHANGE, order, "--topic", "orders", "--property", "urgent:boolean=true")
    assert "north: goes to Acme/North unchanged\n  shared: /order/region = 'north'" in tried
    assert "slips: goes to Acme/Warehouse as application/xml" in tried
    assert '<pick sku="A-1" quantity="10"/>' in tried
    assert "3 of 4 bindings match; nothing was sent." in tried
    query = "for $o in $msg/order where $o/total > 1000 return <big>{$o/@id}</big>"
    [one] = json_lines(example.run("bindings", "try", EXCHANGE, order, "--query", query, "--json", who="auditors"))
    assert (one["tried"], one["items"][0]["content"]) == (1, '<big id="4711"/>')
    small = example.does("bindings", "try", EXCHANGE, order, "--query", "$msg/order/total > 9999")
    assert (small.exit_code, "0 of 1 bindings" in small.stdout) == (1, True)
    example.post(ORDER, topic="none")
    [received] = example.got("north")
    assert "north: goes to Acme/North" in example.run("bindings", "try", EXCHANGE, received.session, who="north")
    assert "not-found" in example.refused("bindings", "try", EXCHANGE, received.session, who="auditors")
    failing = example.does("bindings", "try", EXCHANGE, order, "--query", "xs:date($msg/order/@id) > current-date()")
    assert (failing.exit_code, "tried: fails: " in failing.stdout) == (1, True)
    assert all(example.has_nothing(who) for who in ("north", "warehouse", "key-accounts"))


@pytest.mark.req("X6")
def test_queues_come_and_go_while_messages_flow(example: ExchangeExample) -> None:
    """Whatever is posted after a binding was answered goes there, and nothing that was posted after it was removed."""
    wanted, stop = threading.Event(), threading.Event()
    posted: list[str] = []

    def flow() -> None:
        with example.client("mybiz") as sender:
            while not stop.is_set():
                posted.append(f"n{len(posted)}")
                sender.post(to=EXCHANGE, topic="flow", handle=posted[-1], document=LARGE.replace("9000", "1"))
                if len(posted) == 20:
                    wanted.set()

    flowing = threading.Thread(target=flow)
    flowing.start()
    try:
        with example.client("auditors") as auditors:
            assert wanted.wait(WAIT_S)
            auditors.bindings.bind(EXCHANGE, "Auditors/Archive", name="flow", routing_key="flow")
            first = len(posted) + 1
            eventually(lambda: len(posted) > first + 20)
            last = len(posted) - 2
            auditors.bindings.unbind(EXCHANGE, "flow")
            gone = len(posted) + 1
            eventually(lambda: len(posted) > gone + 20)
    finally:
        stop.set()
        flowing.join(WAIT_S)
    seen = {one.handle for one in _all_of(example, "auditors")}
    assert set(posted[first:last]) <= seen, "one went missing"
    assert seen.isdisjoint(posted[gone:]), "one came too late"


def _all_of(example: ExchangeExample, who: str) -> list[Delivered]:
    example.post(LARGE)
    example.got("key-accounts")  # the exchange keeps the order, so all that came before has gone out
    found: list[Delivered] = []
    with example.client(who) as receiver:
        while polled := receiver.poll(100):
            receiver.acknowledge(*polled)
            found += polled
    return found


@pytest.mark.req("N13")
def test_bindings_are_configuration_as_code(example: ExchangeExample, tmp_path: Path) -> None:
    exported = tmp_path / "export.yaml"
    exported.write_text(example.run("export"))
    assert example.does("apply", exported, "--dry-run", "--prune").exit_code == 0
    document = yaml.safe_load(exported.read_text())
    orders = document["organizations"]["Acme"]["services"]["Orders"]
    assert set(orders["bindings"]) == {"large", "north", "slips", "urgent"}
    orders["bindings"]["extra"] = {"queue": "Acme/New", "query": "$msg/order/total > 1"}
    document["organizations"]["Acme"]["services"]["New"] = {}
    del orders["bindings"]["urgent"]
    exported.write_text(yaml.safe_dump(document))
    applied = example.run("apply", exported, "--yes", "--prune")
    assert "+ binding Acme/Orders: extra\n    queue: Acme/New" in applied
    assert "- binding Acme/Orders: urgent" in applied
    orders["bindings"] |= {
        "extra": {"queue": "Acme/New", "query": "$msg/order["},
        "routed": {"queue": "Acme/New", "routing": "no-such"},
        "lost": {"queue": "Acme/Nowhere"},
    }
    exported.write_text(yaml.safe_dump(document))
    wrong = example.does("apply", exported, "--yes")
    assert wrong.exit_code == 3
    for place in ("extra/query", "routed/routing", "lost/queue"):
        assert f"/organizations/Acme/services/Orders/bindings/{place}" in wrong.stderr
    orders["bindings"] = {"urgent": {"queue": "Acme/Key accounts", "query": "$urgent = true()"}}
    del document["organizations"]["Acme"]["services"]["New"]
    exported.write_text(yaml.safe_dump(document))
    example.run("apply", exported, "--yes")
    with example.client("operator") as operator:
        version = operator.get("/v1/services/Acme/New")["version"]
        operator.change("DELETE", "/v1/services/Acme/New", version=f'"{version}"')
    assert [one["name"] for one in example.listed()] == ["large", "north", "slips", "urgent"], (
        "its bindings went with the queue"
    )


@pytest.mark.req("K1")
async def test_the_sdk_binds_blocking_or_not(example: ExchangeExample) -> None:
    with example.client("auditors") as client:
        made = client.bindings.bind(EXCHANGE, "Auditors/Archive", query="$msg/order/total > 8000")
        assert made["name"].startswith("Archive-")
        assert client.bindings.bind(EXCHANGE, "Auditors/Archive", query="$msg/order/total > 8000") == made
        assert client.bindings.explain(EXCHANGE, made["name"])["standing"] == "shared"
        changed = client.bindings.bind(EXCHANGE, "Auditors/Archive", name=made["name"], routing_key="other")
        assert (changed["version"], changed["query"], changed["routingKey"]) == (2, "", "other")
    async with AsyncClient(example.network.url, key_file=example.data / "auditors.key") as client:
        [listed] = await client.bindings.list(EXCHANGE, queue="Auditors/Archive")
        assert (listed["name"], listed["state"]["matched"]) == (made["name"], 0)
        assert (await client.bindings.binding(EXCHANGE, made["name"]))["version"] == 2
        subject = message(topic="other", document=Part(id="1", content_type="application/xml", data=b"<order/>"))
        tried = await client.bindings.try_out(EXCHANGE, subject)
        assert [one["outcome"] for one in tried["items"]] == ["goes"]
        assert (await client.bindings.explain(EXCHANGE, made["name"]))["condition"] == "$routing_key = 'other'"
        with pytest.raises(Refused) as refused:
            await client.bindings.bind(EXCHANGE, "Auditors/Archive", query="$msg/order[")
        assert refused.value.code == "query.invalid"
        assert (await client.bindings.switch(EXCHANGE, made["name"], enabled=False))["enabled"] is False
        await client.bindings.unbind(EXCHANGE, made["name"])


@pytest.mark.req("N13")
def test_bindings_outlast_the_server(example: ExchangeExample) -> None:
    before = example.listed()
    example.network.end()
    example.network.start()
    after = example.listed()
    assert [dict(one) | {"state": ""} for one in after] == [dict(one) | {"state": ""} for one in before]
    example.post(LARGE)
    assert example.got("key-accounts")[0].parts[0].data.decode() == LARGE
