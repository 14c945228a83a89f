"""Store and forward from a real server to a real receiver: held back, released in each of the three ways, and kept for a time."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from postroad.client import Client
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.resources.histories import HeldBackView, StopView
from postroad.errors import Refused
from tests.samples.push_receiver import Receiver, receiver
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

MYBIZ = "MyBiz/Purchasing"
ACME, OTHER = "TheAcmeCompany/Supply", "TheAcmeCompany/Returns"
LOOPBACK = ("--set", "push_allow_private=127.0.0.0/8")
HELD: dict[str, dict[str, Any]] = {
    ACME: {"onRequest": True},
    "Asked/Inbox": {"onRequest": True},
    "Full/Inbox": {"whenWaiting": 5},
    "Slow/Inbox": {"everySeconds": 2, "whenWaiting": 1_000},
    "Short/Inbox": {"onRequest": True, "keepSeconds": 1},
}
WITNESS = "Open/Inbox"  # holds nothing back

pytestmark = pytest.mark.req("X9")


@pytest.fixture(scope="module")
def receiving() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, receiving: Receiver) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("held") / "data", *LOOPBACK) as running:
        running.register(MYBIZ, ACME, OTHER)
        wishes: dict[str, Any] = {}
        for address, profile in {
            WITNESS: {},
            **{address: {"release": release} for address, release in HELD.items()},
        }.items():
            organization, _, service = address.partition("/")
            push = {"url": receiving.url(path_of(address)), "authentication": "none"}
            wish = {"visibility": "public", "delivery": "push", "push": push} | profile
            wishes[organization] = {"services": {service: wish}}
        file = running.data.parent / "held.yaml"
        file.write_text(json.dumps({"postroad": 1, "organizations": wishes}))
        succeeded("apply", file, "--yes", "--data", running.data)
        yield running


def path_of(address: str) -> str:
    return f"/{address.replace('/', '-')}"


def sent(client: Client, to: str, *texts: str, type_: MessageType = MessageType.NOTIFICATION) -> list[str]:
    def message(text: str) -> Message:
        part = Part(id="1", content_type="text/plain", data=text.encode())
        return Message(to=(Recipient(to),), parts=(part,), type=type_)

    return [client.post_message(message(text)).session for text in texts]


def stops(client: Client, session: str) -> list[StopView]:
    [message] = client.trace(session).messages
    return message.copies[0].stops


def texts(receiving: Receiver, path: str, count: int) -> list[str]:
    return [one.delivered.parts[0].data.decode() for one in receiving.wait_for(path, count)]


def later_one_came(network: Served, receiving: Receiver) -> None:
    """Send to a service that holds nothing back: once it has come, what was sent before would have come too."""
    count = len(receiving.at(path_of(WITNESS)))
    with network.client(MYBIZ) as mybiz:
        for number in (count + 1, count + 2):
            sent(mybiz, WITNESS, f"later {number}")
            receiving.wait_for(path_of(WITNESS), number)


def test_held_until_somebody_asks_over_a_crash_and_not_a_message_longer(network: Served, receiving: Receiver) -> None:
    path = path_of("Asked/Inbox")
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Asked/Inbox", "1", "2", "3")
    network.end(signal.SIGKILL)
    network.start()
    later_one_came(network, receiving)
    assert receiving.at(path) == []
    said = succeeded("release", "Asked/Inbox", "--data", network.data)
    assert said == "Asked/Inbox: 3 messages are released\n"
    assert sorted(texts(receiving, path, 3)) == ["1", "2", "3"]
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Asked/Inbox", "4")
    later_one_came(network, receiving)
    assert len(receiving.at(path)) == 3
    [answered] = json_lines(succeeded("release", "Asked/Inbox", "--json", "--data", network.data))
    assert answered == {"service": "Asked/Inbox", "going": 1, "notBefore": None}
    assert texts(receiving, path, 4)[3] == "4"
    said = succeeded("release", "Asked/Inbox", "--data", network.data)
    assert said.startswith("Asked/Inbox: no message waits for release")


def test_held_until_there_are_enough(network: Served, receiving: Receiver) -> None:
    path = path_of("Full/Inbox")
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Full/Inbox", "1", "2", "3", "4")
        later_one_came(network, receiving)
        assert receiving.at(path) == []
        sent(mybiz, "Full/Inbox", "5")
    assert sorted(texts(receiving, path, 5)) == ["1", "2", "3", "4", "5"]


def test_held_for_a_while(network: Served, receiving: Receiver) -> None:
    path = path_of("Slow/Inbox")
    began = time.monotonic()
    with network.client(MYBIZ) as mybiz:
        sent(mybiz, "Slow/Inbox", "1", "2")
    assert sorted(texts(receiving, path, 2)) == ["1", "2"]
    assert time.monotonic() - began > 1.9


def test_the_service_itself_may_ask_and_another_may_not(network: Served, receiving: Receiver) -> None:
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme, network.client(OTHER) as other:
        [session] = sent(mybiz, ACME, "1")
        assert [one.held for one in stops(mybiz, session)] == [HeldBackView()]
        assert f"waits for release until enough messages wait, or {ACME} requests it" in succeeded(
            "trace", session, "--data", network.data
        )
        for stranger in (mybiz, other):
            with pytest.raises(Refused) as refused:
                stranger.release(ACME)
            assert refused.value.code == "permission.denied"
        assert acme.release(ACME)["going"] == 1
        assert texts(receiving, path_of(ACME), 1) == ["1"]
        assert [one.held for one in stops(mybiz, session)] == [None]


def test_what_waits_too_long_expires_and_a_requester_is_told(network: Served, receiving: Receiver) -> None:
    with network.client(MYBIZ) as mybiz:
        [told] = sent(mybiz, "Short/Inbox", "a notification")
        [asked] = sent(mybiz, "Short/Inbox", "a request", type_=MessageType.REQUEST)
        [response] = mybiz.poll(wait_s=30)
        mybiz.acknowledge(response)
    assert response.reference is not None
    assert response.reference.session == asked
    assert response.status is not None
    assert response.status.code == "route.expired"
    eventually(
        lambda: (
            "it waited longer than the 1 s for which its receiver keeps messages"
            in succeeded("trace", told, "--data", network.data)
        )
    )
    assert receiving.at(path_of("Short/Inbox")) == []


def test_a_profile_by_which_nothing_would_ever_go_is_refused(network: Served) -> None:
    release = {"everySeconds": 60, "keepSeconds": 60}
    push = {"url": "https://acme.example/in", "authentication": "none"}
    wish = {"delivery": "push", "push": push, "release": release}
    file = network.data.parent / "never.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Never": {"services": {"Inbox": wish}}}}))
    done = postroad("apply", file, "--yes", "--data", network.data)
    assert done.returncode != 0
    assert "no message would ever be released" in done.stdout + done.stderr
