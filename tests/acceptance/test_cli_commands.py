"""The command line against a real server: what each command does, prints and returns."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.preloaded import PROGRAM
from tests.samples.served_network import (
    Served,
    clean_environment,
    json_lines,
    postroad,
    served,
    succeeded,
)

BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("cli") / "data") as running:
        running.register(BUYER, SELLER)
        yield running


def using(network: Served, address: str) -> tuple[str | Path, ...]:
    return "--data", network.data, "--key-file", network.key(address)


@pytest.mark.req("K2", "M2", "M3")
def test_post_poll_ack_and_trace(network: Served, tmp_path: Path) -> None:
    order = tmp_path / "order.xml"
    order.write_text("<Order>¾</Order>")
    attachment = tmp_path / "photo.png"
    attachment.write_bytes(b"\x89PNG\x00")
    [posted] = json_lines(
        succeeded(
            "post", order, "--to", SELLER, "--type", "request", "--topic", "orders", "--handle", "PO-7",
            "--text", "more", "--attach", attachment, "--argument", "operation=Process", "--expires", "2h",
            "--property", "urgent:boolean=true", "--property", "lines:number=3", "--json", *using(network, BUYER),
        )
    )  # fmt: skip
    [polled] = json_lines(succeeded("poll", "--wait", "10", "--topic", "orders", "--json", *using(network, SELLER)))
    assert (polled["session"], polled["from"]["service"], polled["type"]) == (posted["session"], BUYER, "request")
    assert polled["to"]["arguments"] == {"operation": "Process"}
    assert polled["properties"] == {"urgent": True, "lines": 3}
    assert [part["text"] for part in polled["documents"]] == ["<Order>¾</Order>", "more"]
    assert polled["attachments"][0]["contentType"] == "image/png"
    back = succeeded("ack", polled["token"], "--give-back", "--reason", "lunch", *using(network, SELLER))
    assert "given back" in back
    shown = succeeded("poll", "--wait", "10", "--from", BUYER, *using(network, SELLER))
    assert "<Order>¾</Order>" in shown
    assert "attempt  2" in shown
    assert "acknowledged" in succeeded("ack", polled["token"], *using(network, SELLER))
    assert "No messages" in succeeded("poll", *using(network, SELLER))
    tree = succeeded("trace", posted["session"], *using(network, BUYER))
    assert re.search(r"given back by Acme/Supply: lunch; again at once\s+\+[\d.]+ m?s", tree)
    [history] = json_lines(succeeded("trace", posted["session"], "--json", "--data", network.data))
    assert history["transaction"] == posted["transaction"]


@pytest.mark.req("K2")
def test_a_document_can_be_piped_and_answered(network: Served) -> None:
    posted = succeeded("post", "-", "--to", SELLER, "--type", "request", *using(network, BUYER), stdin="piped")
    [polled] = json_lines(succeeded("poll", "--wait", "10", "--json", *using(network, SELLER)))
    assert polled["documents"][0]["text"] == "piped"
    succeeded(
        "post", "--type", "response", "--reference", polled["token"], "--status", "sold-out:no more", "--text", "sorry",
        *using(network, SELLER),
    )  # fmt: skip
    [response] = json_lines(succeeded("poll", "--wait", "10", "--ack", "--json", *using(network, BUYER)))
    assert response["status"] == {"code": "sold-out", "text": "no more"}
    assert posted.split()[1] == response["reference"]["session"]


@pytest.mark.req("K2", "D1", "M8")
def test_many_messages_are_posted_from_a_file(network: Served, tmp_path: Path) -> None:
    file = tmp_path / "many.ndjson"
    posts = [{"to": [SELLER], "documents": [{"text": f"{number}"}]} for number in range(30)] + [{"to": ["No/Body"]}]
    file.write_text("\n".join(map(json.dumps, posts)))
    done = postroad("post", "--bulk", file, "--json", *using(network, BUYER))
    assert done.returncode == 3
    answers = json_lines(done.stdout)
    assert len(answers) == 31
    assert (answers[-1]["line"], answers[-1]["code"]) == (31, "recipient.unknown")
    received = json_lines(succeeded("poll", "--max", "100", "--ack", "--json", *using(network, SELLER)))
    assert [item["documents"][0]["text"] for item in received] == [str(number) for number in range(30)]
    file.write_text('{"to": [}')
    broken = postroad("post", "--bulk", file, *using(network, BUYER))
    assert (broken.returncode, "line 1" in broken.stderr) == (3, True)


@pytest.mark.req("N13", "K2")
def test_apply_shows_a_plan_asks_and_changes_nothing_twice(network: Served, tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    succeeded("keys", "make", "--output", tmp_path / "desk.key")
    file.write_text(
        "postroad: 1\norganizations:\n  NewCo:\n    services:\n      Desk:\n        description: first\n"
        "        credentials: [{label: main, keyFrom: 'file:desk.key'}]\n"
    )
    arguments = ("apply", file, "--data", network.data)
    planned = postroad(*arguments, "--dry-run")
    assert planned.returncode == 2
    assert "+ service NewCo/Desk" in planned.stdout
    assert "3 to add, 0 to change, 0 to remove." in planned.stdout
    assert (tmp_path / "desk.key").read_text().strip() not in planned.stdout
    assert postroad(*arguments, stdin="n\n").returncode == 1
    assert postroad(*arguments, "--dry-run").returncode == 2
    assert "Applied." in succeeded(*arguments, stdin="y\n")
    assert "Nothing to change" in succeeded(*arguments, "--dry-run")
    file.write_text(file.read_text().replace("first", "second"))
    changed = postroad(*arguments, "--dry-run", "--json")
    [plan] = json_lines(changed.stdout)
    assert (changed.returncode, plan["applied"]) == (2, False)
    assert plan["steps"][0]["fields"] == [
        {"field": "description", "before": "first", "after": "second", "resets": False}
    ]
    assert "description: first → second" in postroad(*arguments, "--dry-run").stdout
    assert "Desk" in succeeded("export", "--data", network.data)
    file.write_text("postroad: 1\norganizations:\n  NewCo: {}\n")
    assert "- service NewCo/Desk" in succeeded(*arguments, "--yes", "--prune")
    assert "Desk" not in succeeded("export", "--data", network.data)


@pytest.mark.req("N13", "K2")
def test_apply_resets_unnamed_fields_only_when_told_to(network: Served, tmp_path: Path) -> None:
    file = tmp_path / "partial.yaml"
    file.write_text(
        "postroad: 1\norganizations:\n  Partial:\n    description: whole\n    services:\n"
        "      Orders: {visibility: public, delivery: push, push: {url: 'https://a.example/', authentication: none}}\n"
    )
    arguments = ("apply", file, "--data", network.data)
    succeeded(*arguments, "--yes")
    before = succeeded("export", "--data", network.data)
    file.write_text("postroad: 1\norganizations:\n  Partial:\n    services: {Orders: {visibility: public}}\n")
    refused = postroad(*arguments, "--yes")
    assert refused.returncode == 1
    assert "Partial: description; Partial/Orders: delivery, push" in refused.stderr
    assert "delivery: push → poll  (reset: not in the file)" in refused.stdout
    assert succeeded("export", "--data", network.data) == before
    succeeded(*arguments, "--yes", "--reset")
    assert "Orders: {" not in succeeded("export", "--data", network.data)
    assert "Nothing to change" in succeeded(*arguments, "--yes")


@pytest.mark.req("N13")
def test_an_export_that_is_applied_changes_nothing(network: Served, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    succeeded("export", "--output", file, "--data", network.data)
    assert "Nothing to change" in succeeded("apply", file, "--dry-run", "--prune", "--data", network.data)
    exported = succeeded("export", "--json", "--data", network.data)
    assert "Nothing to change" in succeeded("apply", "-", "--dry-run", "--data", network.data, stdin=exported)
    secrets = [network.key(address).read_text().strip() for address in (BUYER, SELLER)]
    assert not [secret for secret in secrets if secret in file.read_text() + exported]


def test_missing_keys_are_made_when_so_wished(network: Served, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text(
        "postroad: 1\norganizations: {K: {services: {k: {credentials: [{label: l, keyFrom: 'file:k/k.key'}]}}}}"
    )
    arguments = ("apply", file, "--data", network.data)
    assert "no such file" in postroad(*arguments, "--dry-run").stderr
    assert postroad(*arguments, "--dry-run", "--make-keys").returncode == 2
    key = tmp_path / "k" / "k.key"
    assert not key.exists()
    broken = tmp_path / "broken.yaml"
    broken.write_text(file.read_text().replace("k: {cred", "'k/k': {cred"))
    assert postroad("apply", broken, "--data", network.data, "--yes", "--make-keys").returncode == 3
    assert not key.exists()
    succeeded(*arguments, "--yes", "--make-keys")
    assert key.stat().st_mode & 0o777 == 0o600
    assert "Nothing to change" in succeeded(*arguments, "--make-keys", "--yes")
    assert "No messages" in succeeded("poll", "--data", network.data, "--key-file", key)


def test_every_fault_of_the_files_is_named_at_once(network: Served, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(
        "postroad: 1\norganizations: {A: {services: {x: {credentials: [{label: l, keyFrom: 'env:NO_SUCH'}]}}}}"
    )
    second.write_text("postroad: 1\norganizations: {A: {}}")
    done = postroad("apply", first, second, tmp_path / "absent.yaml", "--data", network.data)
    assert done.returncode == 1
    assert "NO_SUCH is not set" in done.stderr
    assert "A is also in another file" in done.stderr
    assert "absent.yaml" in done.stderr


@pytest.mark.req("K2")
def test_tail_follows_what_happens(network: Served) -> None:
    command = [*PROGRAM, "tail", "--last", "200", "--every", "0.2", "--json", *map(str, using(network, SELLER))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as running:
        assert running.stdout is not None
        posted = succeeded("post", "--text", "x", "--to", SELLER, "--handle", "T-1", *using(network, BUYER)).split()[1]
        lines = iter(running.stdout.readline, "")
        arrived = next(line for line in map(json.loads, lines) if line["session"] == posted)
        assert (arrived["state"], arrived["handle"], arrived["from"]) == ("queued", "T-1", BUYER)
        succeeded("poll", "--ack", *using(network, SELLER))
        assert next(line for line in map(json.loads, lines) if line["session"] == posted)["state"] == "delivered"
        running.send_signal(2)
        assert running.wait(20) == 0
    shown = succeeded("tail", "--once", "--box", "sent", *using(network, BUYER))
    assert posted in shown
    assert "accepted" in shown


@pytest.mark.req("K2", "C2")
def test_find_says_where_a_message_is(network: Served) -> None:
    posted = succeeded("post", "--text", "x", "--to", SELLER, "--handle", "F-1", *using(network, BUYER)).split()[1]
    shown = succeeded("find", "f-1", *using(network, BUYER))
    assert f"message {posted} of {BUYER}" in shown
    assert f"It waits in the mailbox of {SELLER}. Since " in shown
    [found] = json_lines(succeeded("find", posted, "--json", *using(network, SELLER)))
    assert (found["kind"], found["by"], found["whereabouts"][0]["state"]) == ("message", ["session"], "waiting")
    succeeded("post", "--text", "y", "--to", SELLER, "--handle", "f-1", *using(network, BUYER))
    assert len(json_lines(succeeded("find", "F-1", "--json", *using(network, BUYER)))) == 2
    cut = succeeded("find", "F-1", "--most", "1", *using(network, BUYER))
    assert posted not in cut
    assert "and more; to show all: postroad find --most 0 F-1" in cut
    done = postroad("find", "F-9", "--json", *using(network, BUYER))
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (3, "", "not-found")
    assert postroad("find", " ", *using(network, BUYER)).returncode == 2


@pytest.mark.req("K2")
def test_bench_measures_a_running_network(network: Served) -> None:
    for more in ((), ("--bulk",)):
        [found] = json_lines(
            succeeded("bench", "--messages", "60", "--clients", "4", "--json", "--data", network.data, *more)
        )
        assert found["messages"] == 60
        assert found["posts_per_s"] > 0
        assert 0 < found["post_p50_ms"] <= found["post_p99_ms"]
        assert 0 < found["receipt_p50_ms"] <= found["receipt_p99_ms"]


@pytest.mark.req("K2")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("trace", "0" * 32), 3, "not-found"),
        (("post", "--to", SELLER, "--text", "x", "--key", "pr_wrong"), 3, "authentication.required"),
        (("poll",), 3, "permission.denied"),
        (("poll", "--url", "http://127.0.0.1:9", "--key", "x"), 4, "network.unreachable"),
        (("poll", "--max", "0"), 2, "--max"),
        (("apply", "absent.yaml"), 1, "absent.yaml: no such file or directory"),
        (("post", "--to", SELLER, "absent.json"), 1, "absent.json: no such file or directory [file.unusable]"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_exit_codes_tell_whose_turn_it_is(network: Served, arguments: tuple[str, ...], code: int, words: str) -> None:
    there = () if "--url" in arguments or arguments == ("nonsense",) else ("--data", network.data)
    done = postroad(*arguments, *there)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    if code in (3, 4):
        [problem] = json_lines(postroad(*arguments, *there, "--json").stderr)
        assert problem["code"] == words


def test_services_are_listed_by_address(network: Served) -> None:
    network.register("Zeta/b", "Zeta/A", "Zeta/c")
    addresses = [
        service["address"] for service in json_lines(succeeded("services", "list", "--json", "--data", network.data))
    ]
    assert addresses == sorted(addresses, key=str.casefold)
    assert {"Zeta/b", "Zeta/A", "Zeta/c"} <= set(addresses)


def test_an_unreachable_network_is_named(tmp_path: Path) -> None:
    done = postroad("poll", "--key", "x", cwd=tmp_path, environment={"POSTROAD_DATA": "nothing-here"})
    assert done.returncode == 4
    assert "No response from http://127.0.0.1:8470 " in done.stderr
    assert "No network was found in nothing-here" in done.stderr
    named = postroad("poll", "--key", "x", "--url", "http://127.0.0.1:9", cwd=tmp_path)
    assert "No response from http://127.0.0.1:9 " in named.stderr
    assert "No network was found" not in named.stderr


def test_the_operators_key_goes_to_its_own_network_only(network: Served) -> None:
    done = postroad("poll", "--url", "http://127.0.0.1:9", "--data", network.data)
    assert done.returncode == 1
    assert "no key" in done.stderr


def test_a_post_that_reaches_some_recipients_names_the_others(network: Served) -> None:
    done = postroad("post", "--text", "x", "--to", SELLER, "--to", "No/Body", *using(network, BUYER))
    assert done.returncode == 0
    assert "not sent to No/Body" in done.stderr
    succeeded("poll", "--ack", *using(network, SELLER))
