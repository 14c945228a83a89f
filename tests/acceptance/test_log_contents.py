"""The log of a real server: it names IDs as fields, and contains nothing of messages or credentials."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Client
from postroad.errors import Refused
from tests.samples.push_receiver import Answer, Receiver, receiver
from tests.samples.served_network import Served, json_lines, served, succeeded
from tests.waiting import eventually

BUYER, SELLER, PUSHED, STAMP = "MyBiz/Buyer", "Acme/Supply", "Acme/Hook", "Acme/Stamp"
OPTIONS = ("--set", "push_allow_private=127.0.0.0/8", "--set", "log_level=debug")
# What no line may contain, by where it is put.
BODY, HANDLE, PROPERTY, BROKEN = "canary-body-7f3a", "canary-handle-7f3a", "canary-property-7f3a", "canary-broken-7f3a"
WRONG_KEY, PUSH_SECRET, REPLY = "pr_canarykey7f3a0000_wrong", "canary-secret-7f3a", "canary-reply-7f3a"
CANARIES = (BODY, HANDLE, PROPERTY, BROKEN, WRONG_KEY, PUSH_SECRET, REPLY)


def configure(network: Served, receiving: Receiver) -> None:
    """Add a service whose pushes fail with an answer that quotes, and a hosted one that cannot read its message."""
    network.register(BUYER, SELLER)
    folder = network.data / "push-secrets" / "Acme"
    folder.mkdir(parents=True)
    (folder / "hook").write_text(PUSH_SECRET + "\n")
    receiving.answers["/hook"] = lambda pushed: Answer(status=500, body=REPLY.encode())
    push = {"url": receiving.url("/hook"), "authentication": "bearer", "secretFrom": "file:hook", "tries": 1}
    services = {
        "Hook": {"visibility": "public", "delivery": "push", "push": push},
        "Stamp": {"visibility": "public", "hosted": "xslt"},
    }
    file = network.data.parent / "canaries.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Acme": {"services": services}}}))
    succeeded("apply", file, "--yes", "--data", network.data)


def post(client: Client, to: str) -> str:
    fields: dict[str, Any] = {"document": BODY, "handle": f"{HANDLE}-{to}", "properties": {"order": PROPERTY}}
    return client.post(to=to, type="notification", **fields).session


def post_raw(network: Served, key: str, body: bytes) -> int:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{network.url}/v1/messages", body, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str], Path]]:
    """Return the log of a server that accepted, refused and pushed, the sessions by recipient, and the sender's key."""
    sessions: dict[str, str] = {}
    with receiver() as receiving, served(tmp_path_factory.mktemp("canaries") / "data", *OPTIONS) as network:
        configure(network, receiving)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            for to in (SELLER, PUSHED, STAMP):
                sessions[to] = post(buyer, to)
            with pytest.raises(Refused):
                post(buyer, "Acme/Nobody")
            [received] = seller.poll(1, wait_s=10)
            seller.give_back(received, reason=BODY)
        key = network.key(BUYER).read_text().strip()
        assert post_raw(network, key, f'{{"to": ["{SELLER}"], "{BROKEN}'.encode()) == 400
        assert post_raw(network, WRONG_KEY, b"{}") == 401
        receiving.wait_for("/hook")
        for to in (PUSHED, STAMP):
            eventually(partial(_has_ended, network, sessions[to]))
        network.end()
        log = (network.data.parent / f"{network.data.name}.log").read_text()
        yield log, sessions, network.key(BUYER)


def _has_ended(network: Served, session: str) -> bool:
    shown = succeeded("trace", session, "--data", network.data)
    return "failed" in shown or "acknowledged" in shown


def find_canaries(log: str, canaries: tuple[str, ...]) -> list[str]:
    return [line for line in log.splitlines() if any(canary in line for canary in canaries)]


@pytest.mark.req("Z4")
def test_the_log_contains_nothing_of_messages_and_no_credential(logged: tuple[str, dict[str, str], Path]) -> None:
    log, _, key = logged
    assert find_canaries(log, (*CANARIES, key.read_text().strip())) == []


def test_the_search_would_find_what_is_in_the_log(logged: tuple[str, dict[str, str], Path]) -> None:
    log, sessions, _ = logged
    assert find_canaries(log, (sessions[STAMP],)) != []


@pytest.mark.req("O4")
def test_the_ids_of_a_line_are_fields(logged: tuple[str, dict[str, str], Path]) -> None:
    log, sessions, _ = logged
    lines = [line for line in json_lines(log) if sessions[STAMP] in line["message"]]
    assert lines != []
    for line in lines:
        assert line["session"] == line["transaction"] == sessions[STAMP]
        assert line["code"]
        assert len(line["gcid"]) == 16
