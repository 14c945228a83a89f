"""Pushes from a real server to real receivers over HTTP: configured by file, signed, answered, tried again, traced."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from postroad.client import Client
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.identity.webhook import secret_text
from postroad.core.model.message import Message, MessageType, Part, Recipient
from tests.samples.push_receiver import Answer, Pushed, Receiver, receiver
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

MYBIZ, ACME = "MyBiz/Purchasing", "TheAcmeCompany/Supply"
SECRET = secret_text(bytes(range(32)))
LOOPBACK = ("--set", "push_allow_private=127.0.0.0/8")


@pytest.fixture(scope="module")
def receiving() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("push") / "data", *LOOPBACK) as running:
        running.register(MYBIZ, ACME)
        yield running


def push_to(network: Served, receiving: Receiver, address: str, **profile: Any) -> str:
    """Make a service that is pushed to, and return the path at which it is."""
    path = f"/{address.replace('/', '-')}"
    push = {"url": receiving.url(path), "authentication": "none"} | profile.pop("push", {})
    organization, _, service = address.partition("/")
    wish = {"visibility": "public", "delivery": "push", "push": push} | profile
    file = network.data.parent / "pushed.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {organization: {"services": {service: wish}}}}))
    succeeded("apply", file, "--yes", "--data", network.data)
    return path


def keep_secret(network: Served, organization: str, name: str, secret: str) -> None:
    """As an operator would."""
    folder = network.data / "push-secrets" / organization
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(secret + "\n")


def sent(client: Client, to: str, text: str, **more: Any) -> str:
    part = Part(id="1", content_type="text/plain", data=text.encode())
    return client.post_message(Message(to=(Recipient(to),), parts=(part,), **more)).session


def trace(network: Served, session: str) -> str:
    return succeeded("trace", session, "--data", network.data)


def later_one_came(network: Served, receiving: Receiver) -> None:
    """Push to a service that nothing holds up: once it has come, what was sent before would have come too."""
    path = push_to(network, receiving, "Witness/Inbox")
    count = len(receiving.at(path))
    with network.client(MYBIZ) as mybiz:
        for number in (count + 1, count + 2):
            sent(mybiz, "Witness/Inbox", f"later {number}")
            receiving.wait_for(path, number)


@pytest.mark.req("D3", "K3", "Z4")
def test_a_signed_push_is_verified_by_the_standards_own_library(network: Served, receiving: Receiver) -> None:
    keep_secret(network, "Signed", "hook", SECRET)
    path = push_to(network, receiving, "Signed/Inbox", push={"authentication": "signature", "secretFrom": "file:hook"})
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Signed/Inbox", "3 anvils")
    [pushed] = receiving.wait_for(path)
    verified = Webhook(SECRET).verify(pushed.body, dict(pushed.headers))
    assert verified["messages"][0]["session"] == session
    assert pushed.delivered.parts[0].data == b"3 anvils"
    eventually(lambda: "acknowledged" in trace(network, session))


def _has_failed(network: Served, session: str) -> bool:
    return "failed" in trace(network, session)


@pytest.mark.req("Z4")
def test_a_profile_cannot_name_what_is_not_its_organizations(network: Served, receiving: Receiver) -> None:
    keep_secret(network, "Signed", "hook", SECRET)
    for number, reference in enumerate(("file:../Signed/hook", f"file:{network.data}/operator.key", "env:PATH")):
        push = {"authentication": "bearer", "secretFrom": reference, "tries": 1}
        path = push_to(network, receiving, f"Curious/Inbox{number}", push=push)
        with network.client(MYBIZ) as mybiz:
            session = sent(mybiz, f"Curious/Inbox{number}", "hello")
        eventually(partial(_has_failed, network, session))
        assert receiving.at(path) == []


def test_a_secret_that_a_restore_left_out_is_named_by_doctor_and_dead_letters(
    network: Served, receiving: Receiver
) -> None:
    keep_secret(network, "Restored", "hook", SECRET)
    push = {"authentication": "signature", "secretFrom": "file:hook", "tries": 1}
    push_to(network, receiving, "Restored/Inbox", push=push)
    (network.data / "push-secrets" / "Restored" / "hook").unlink()
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Restored/Inbox", "3 anvils")
    eventually(lambda: "failed" in trace(network, session))
    [letters] = json_lines(
        succeeded("dead-letters", "list", "--json", "--service", "Restored/Inbox", "--data", network.data)
    )
    assert letters["cause"] == "push-settings"
    checked = postroad("doctor", "--data", network.data)
    missing = "Restored/Inbox: file:hook: this file does not exist in push-secrets"
    assert (checked.returncode, missing in checked.stdout) == (1, True)


@pytest.mark.req("Z4")
def test_a_password_goes_with_the_push(network: Served, receiving: Receiver) -> None:
    keep_secret(network, "Basic", "password", "open sesame")
    push = {"authentication": "basic", "username": "network", "secretFrom": "file:password"}
    path = push_to(network, receiving, "Basic/Inbox", push=push)
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Basic/Inbox", "hello")
    [pushed] = receiving.wait_for(path)
    scheme, _, pair = pushed.headers["authorization"].partition(" ")
    assert (scheme, b64decode(pair)) == ("Basic", b"network:open sesame")


@pytest.mark.req("D3")
def test_a_failed_push_is_tried_again_and_the_trace_tells(network: Served, receiving: Receiver) -> None:
    answers = [Answer(status=500), Answer(status=302, headers={"location": receiving.url("/elsewhere")}), Answer()]
    path = push_to(network, receiving, "Moody/Inbox", push={"tries": 5, "retryIntervalSeconds": 1})
    receiving.answers[path] = lambda _: answers.pop(0)
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Moody/Inbox", "hello")
    pushed = receiving.wait_for(path, 3)
    assert len({one.id for one in pushed}) == 1
    assert receiving.at("/elsewhere") == []
    eventually(lambda: "acknowledged" in trace(network, session))
    told = trace(network, session)
    assert told.count("push failed") == 2
    assert "500" in told
    assert "redirects are not followed" in told


@pytest.mark.req("D3")
def test_the_answer_to_a_push_is_the_response(network: Served, receiving: Receiver) -> None:
    def answering(pushed: Pushed) -> Answer:
        assert pushed.delivered.type is MessageType.REQUEST
        part = Part(id="1", content_type="text/plain", data=b"confirmed")
        body = JSON_FORM.encode_post(Message(type=MessageType.RESPONSE, parts=(part,)))
        return Answer(status=200, body=body, headers={"content-type": "application/json"})

    path = push_to(network, receiving, "Prompt/Orders")
    receiving.answers[path] = answering
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Prompt/Orders", "an order", type=MessageType.REQUEST)
        [response] = mybiz.poll(wait_s=20)
        mybiz.acknowledge(response)
    assert response.reference is not None
    assert response.reference.session == session
    assert response.parts[0].data == b"confirmed"


@pytest.mark.req("D3")
def test_an_in_transit_service_by_push_changes_the_message(network: Served, receiving: Receiver) -> None:
    def upper(pushed: Pushed) -> Answer:
        [part] = pushed.delivered.parts
        changed = Part(id=part.id, content_type=part.content_type, data=part.data.upper())
        body = JSON_FORM.encode_post(Message(type=MessageType.RESPONSE, parts=(changed,)))
        return Answer(status=200, body=body, headers={"content-type": "application/json"})

    path = push_to(network, receiving, "Transmatics/Upper")
    receiving.answers[path] = upper
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        sent(mybiz, ACME, "an order", route=(Recipient("Transmatics/Upper"),))
        [arrived] = acme.poll(wait_s=20)
        acme.acknowledge(arrived)
    assert arrived.parts[0].data == b"AN ORDER"


@pytest.mark.req("D4")
def test_nothing_is_pushed_while_the_window_is_closed(network: Served, receiving: Receiver) -> None:
    now = datetime.now(UTC)
    closed = {"opens": f"{now + timedelta(hours=2):%H:%M}", "closes": f"{now + timedelta(hours=3):%H:%M}"}
    path = push_to(network, receiving, "Closed/Inbox", windows=[closed])
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Closed/Inbox", "hello")
    later_one_came(network, receiving)
    assert receiving.at(path) == []
    push_to(network, receiving, "Closed/Inbox", windows=[])
    receiving.wait_for(path)


@pytest.mark.req("D8")
def test_a_slow_receiver_does_not_slow_others(network: Served, receiving: Receiver) -> None:
    released = threading.Event()

    def slow(_: Pushed) -> Answer:
        released.wait(60)
        return Answer()

    slow_path = push_to(network, receiving, "Slow/Inbox")
    receiving.answers[slow_path] = slow
    quick_path = push_to(network, receiving, "Quick/Inbox")
    with network.client(MYBIZ) as mybiz:
        for number in range(30):
            sent(mybiz, "Slow/Inbox", f"slow {number}")
        receiving.wait_for(slow_path)
        for number in range(30):
            sent(mybiz, "Quick/Inbox", f"quick {number}")
        receiving.wait_for(quick_path, 30)
    assert len(receiving.at(slow_path)) == 1  # as long as it has never answered
    released.set()
    receiving.wait_for(slow_path, 30)


@pytest.mark.req("B7")
def test_what_the_main_place_does_not_take_is_taken_by_the_backup(network: Served, receiving: Receiver) -> None:
    backup = {"url": receiving.url("/second"), "authentication": "none", "tries": 2}
    path = push_to(network, receiving, "Twofold/Inbox", push={"tries": 2, "retryIntervalSeconds": 1, "backup": backup})
    receiving.answers[path] = lambda _: Answer(status=503)
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Twofold/Inbox", "hello")
    [taken] = receiving.wait_for("/second")
    assert {one.id for one in receiving.at(path)} == {taken.id}
    assert len(receiving.at(path)) == 2
    eventually(lambda: "acknowledged" in trace(network, session))
    assert "/second" in succeeded("export", "--data", network.data)


@pytest.mark.req("D3")
def test_a_receiver_that_is_gone_is_pushed_to_no_more(network: Served, receiving: Receiver) -> None:
    path = push_to(network, receiving, "Gone/Inbox")
    receiving.answers[path] = lambda _: Answer(status=410)
    with network.client(MYBIZ) as mybiz:
        session = sent(mybiz, "Gone/Inbox", "hello")
        receiving.wait_for(path)
        eventually(lambda: "push failed" in trace(network, session))
        sent(mybiz, "Gone/Inbox", "once more")
    later_one_came(network, receiving)
    assert len(receiving.at(path)) == 1
    exported = succeeded("export", "--data", network.data)
    assert "410" not in re.findall(r"\w+", exported)
    receiving.answers.pop(path)
    push_to(network, receiving, "Gone/Inbox")
    receiving.wait_for(path, 3)


@pytest.mark.req("D3")
def test_loopback_is_not_pushed_to_unless_the_operator_allows_it(tmp_path: Path, receiving: Receiver) -> None:
    """A saved address is checked again at each push: the operator may have withdrawn the permission meanwhile."""
    with served(tmp_path / "data", *LOOPBACK) as allowing:
        allowing.register(MYBIZ)
        path = push_to(allowing, receiving, "Forbidden/Inbox", push={"tries": 1})
    with served(tmp_path / "data") as strict:
        with strict.client(MYBIZ) as mybiz:
            session = sent(mybiz, "Forbidden/Inbox", "hello")
        eventually(lambda: "push_allow_private" in trace(strict, session))
        assert receiving.at(path) == []
