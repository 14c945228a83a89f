"""Secrets in a real network: set on the command line and by the SDK, used by the next push, and found nowhere else."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Client
from postroad.core.identity.webhook import secret_text
from postroad.errors import Refused
from tests.samples.push_receiver import Receiver, receiver
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

MYBIZ, ACME, BIRCH = "MyBiz/Purchasing", "Acme/Supply", "Birch/Supply"
MASTER_KEY = "0d" * 32
CANARY = "canary-7f4e2a9c-sings"

pytestmark = pytest.mark.req("O9")


@pytest.fixture(scope="module")
def receiving() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("secrets")
    key = folder / "master.key"
    key.write_text(MASTER_KEY + "\n")
    more = ("--set", "push_allow_private=127.0.0.0/8", "--set", f"master_key_file={key}", "--set", "log_level=debug")
    with served(folder / "data", *more) as running:
        running.register(MYBIZ, ACME, BIRCH)
        yield running


def operator(network: Served) -> Client:
    return Client(network.url, (network.data / "operator.key").read_text().strip())


def push_to(network: Served, receiving: Receiver, address: str, **push: Any) -> str:
    """Let a service be pushed to, and return the path."""
    path = f"/{address.replace('/', '-')}"
    organization, _, service = address.partition("/")
    wish = {
        "visibility": "public",
        "delivery": "push",
        "push": {"url": receiving.url(path), "retryIntervalSeconds": 1} | push,
    }
    file = network.data.parent / "pushed.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {organization: {"services": {service: wish}}}}))
    succeeded("apply", file, "--yes", "--reset", "--data", network.data)
    return path


def post(network: Served, to: str) -> None:
    with network.client(MYBIZ) as client:
        client.post(to=to, documents=["an order"])


def authorization(receiving: Receiver, path: str, number: int) -> str:
    receiving.wait_for(path, number)
    return str(receiving.at(path)[number - 1].headers["authorization"])


def test_a_push_waits_for_its_secret_and_uses_the_newest(network: Served, receiving: Receiver) -> None:
    path = push_to(network, receiving, ACME, authentication="bearer", secretFrom="secret:partner")
    shown = succeeded("services", "show", ACME, "--data", network.data)
    assert "secret:partner does not exist" in shown
    post(network, ACME)
    told = succeeded("secrets", "set", "Acme", "partner", "--data", network.data, stdin="first\n")
    assert told == "secret:partner of Acme is set, version 1\n"
    assert authorization(receiving, path, 1) == "Bearer first"
    file = network.data.parent / "token.txt"
    file.write_text("second")
    succeeded("secrets", "set", "acme", "PARTNER", "--file", file, "--data", network.data)
    post(network, ACME)
    assert authorization(receiving, path, 2) == "Bearer second"
    with operator(network) as client:
        client.secrets.set(ACME, "partner", "its own")
        post(network, ACME)
        assert authorization(receiving, path, 3) == "Bearer its own"
        [own, all_] = sorted(client.secrets.list("Acme"), key=lambda one: one.version)
        assert (own.service, own.used_by, all_.service, all_.used_by, all_.version) == (ACME, [ACME], "", [], 2)
        assert [one.service for one in client.secrets.list(ACME)] == [ACME]
        client.secrets.remove(ACME, "partner")
    post(network, ACME)
    assert authorization(receiving, path, 4) == "Bearer second"
    done = postroad("doctor", "--json", "--data", network.data, "--set", f"master_key={MASTER_KEY}")
    [findings] = json_lines(done.stdout)
    assert {one["what"]: one["state"] for one in findings}["secrets"] == "ok", findings


def test_another_organizations_secret_is_not_found(network: Served, receiving: Receiver) -> None:
    succeeded("secrets", "set", "Acme", "theirs", "--data", network.data, stdin=CANARY)
    path = push_to(network, receiving, BIRCH, authentication="bearer", secretFrom="secret:theirs", tries=1)
    post(network, BIRCH)
    eventually(lambda: "settings" in succeeded("dead-letters", "list", "--data", network.data), 60)
    assert receiving.at(path) == []


def test_wrong_input_is_refused_without_being_repeated(network: Served) -> None:
    for arguments, stdin in (
        (("Acme", "no/name"), CANARY),
        (("Acme", "-dash"), CANARY),
        (("Acme", "large"), CANARY * 4_000),
        (("Acme", "empty"), ""),
        (("Nobody", "name"), CANARY),
    ):
        done = postroad("secrets", "set", "--data", network.data, "--", *arguments, stdin=stdin)
        assert done.returncode != 0, arguments
        assert CANARY not in done.stdout + done.stderr
    with operator(network) as client, pytest.raises(Refused) as refused:
        client.change("PUT", "/v1/organizations/Acme/secrets/x", {"value": CANARY, "more": CANARY})
    assert CANARY not in str(refused.value)


def test_the_number_of_secrets_is_limited(network: Served) -> None:
    with operator(network) as client:
        for number in range(100):
            client.secrets.set("MyBiz", f"s{number}", "x")
        with pytest.raises(Refused, match=r"secrets\.too-many"):
            client.secrets.set("MyBiz", "one-more", "x")
        client.secrets.set("MyBiz", "s0", "an existing one is replaced")


def test_a_secret_is_found_nowhere_but_in_the_push(network: Served, receiving: Receiver) -> None:
    """In clear, or as the push had it: not in files, logs, exports, lists, or the settings that doctor shows."""
    path = push_to(network, receiving, ACME, authentication="basic", username="me", secretFrom="secret:canary")
    succeeded("secrets", "set", "Acme", "canary", "--data", network.data, stdin=CANARY)
    count = len(receiving.at(path))
    post(network, ACME)
    assert b64decode(authorization(receiving, path, count + 1).removeprefix("Basic ")) == f"me:{CANARY}".encode()
    shown = [
        succeeded("export", "--data", network.data),
        succeeded("secrets", "list", "Acme", "--json", "--data", network.data),
        postroad("doctor", "--settings", "--data", network.data, "--set", f"master_key={MASTER_KEY}").stdout,
        (network.data.parent / "data.log").read_text(),
    ]
    assert network.end() == 0
    stored = b"".join(file.read_bytes() for file in network.data.rglob("*") if file.is_file())
    network.start()
    for secret in (CANARY, b64encode(f"me:{CANARY}".encode()).decode(), MASTER_KEY):
        assert [text for text in shown if secret in text] == []
        assert secret.encode() not in stored
    assert b"secret.changed" in stored  # the search would find it


def test_a_signing_secret_in_two_lines_signs_twice(network: Served, receiving: Receiver) -> None:
    path = push_to(network, receiving, BIRCH, secretFrom="secret:hook")
    lines = "\n".join(secret_text(bytes([number]) * 32) for number in (1, 2))
    succeeded("secrets", "set", "Birch", "hook", "--data", network.data, stdin=lines + "\n")
    count = len(receiving.at(path))
    post(network, BIRCH)
    receiving.wait_for(path, count + 1)
    assert len(str(receiving.at(path)[-1].headers["webhook-signature"]).split()) == 2


@pytest.mark.req("O8")
def test_a_rotation_keeps_the_secrets_of_notification_webhooks(network: Served) -> None:
    """Also after a restart, when the rotated keys are loaded before anything is derived."""
    hook = ("hook", "--webhook", "https://hook.example/", "--organization", "Acme", "--json")
    [added] = json_lines(succeeded("notifications", "add", *hook, "--data", network.data))
    succeeded("secrets", "rotate-token", "--data", network.data)
    assert network.end() == 0
    network.start()
    with operator(network) as client:
        assert len(client.get("/v1/keys")["tokenKeys"]) == 2
        assert client.get("/v1/organizations/Acme/notifications/hook")["secret"] == added["secret"] != ""


def test_a_network_without_a_master_key_says_so(tmp_path: Path) -> None:
    with served(tmp_path / "data") as running:
        running.register(ACME)
        done = postroad("secrets", "set", "Acme", "x", "--data", running.data, stdin=CANARY)
        assert done.returncode != 0
        assert "secrets.unavailable" in done.stderr
        assert CANARY not in done.stderr
        assert succeeded("secrets", "list", "Acme", "--data", running.data) == "Acme has no secrets.\n"
