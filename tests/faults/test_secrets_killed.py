"""kill -9 at each step of a change and of a rotation: no secret is lost, and a rotation is continued by repeating it.

``make test`` takes the steps that matter most, ``make soak`` all of them; the unit tests of the vault crash at every step.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroad.client import Access, Client
from postroad.client.retries import Retrying
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication
from postroad.core.model.message import Message, Part, Recipient
from postroad.errors import PostroadError, Unavailable
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import Party, serving
from tests.samples.push_receiver import Receiver, receiver
from tests.waiting import eventually

DYING = Path(__file__).with_name("dying_server.py")
SENDER, INBOX, PATH, WAIT_S = "MyBiz/Purchasing", "TheAcmeCompany/Inbox", "/inbox", 90
OLD_KEY, NEW_KEY = "0d" * 32, "1e" * 32
HAS_TIME = int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1")) > 1
OWNERS = ("TheAcmeCompany", INBOX, "MyBiz", SENDER)

pytestmark = [pytest.mark.req("O9"), pytest.mark.timeout(900)]


@contextmanager
def network(tmp_path: Path) -> Iterator[tuple[ServerProcess, Receiver, str]]:
    """A server that may die, a receiver that is pushed to with a stored secret, and the sender's key."""
    settings = {"push_allow_private": "127.0.0.0/8", "master_key": OLD_KEY, "segment_bytes": 1 << 20}
    with receiver() as receiving:
        push = Push(
            url=receiving.url(PATH),
            authentication=PushAuthentication.BEARER,
            secret_from="secret:hook",
            retry_interval_s=1,
        )
        party = Party(address=INBOX, profile={"delivery": DeliveryMode.PUSH, "push": push})
        command = (sys.executable, str(DYING), "serve")
        with serving(tmp_path / "data", SENDER, party, settings=settings, command=command) as (server, keys):
            yield server, receiving, keys[SENDER]


def operator(server: ServerProcess) -> Client:
    return Client(access=Access.with_key(server.url, server.operator_key), retrying=Retrying(tries=1))


def pushed_token(server: ServerProcess, receiving: Receiver, key: str) -> str:
    """Post, and return the token that the push presented."""
    count = len(receiving.at(PATH))
    with Client(access=Access.with_key(server.url, key)) as client:
        part = Part(id="1", content_type="text/plain", data=b"order")
        client.post_message(Message(to=(Recipient(INBOX),), parts=(part,)))
    eventually(lambda: len(receiving.at(PATH)) > count, WAIT_S)
    return str(receiving.at(PATH)[-1].headers["authorization"]).removeprefix("Bearer ")


CHANGES = [("before stage", False), ("after stage", False), ("before activate", True), ("after activate", True)]
REMOVALS = ["before remove", "after remove"]
REWRAPS = ["before set_meta", "after set_meta", "before rewrap_data_key", "after rewrap_data_key#2"]
NEW_TOKEN_KEYS = [
    "before save_token_key",
    "after save_token_key",
    "before save_token_key#2",
]  # the base key, then the new one


def die(server: ServerProcess, moment: str, work: Callable[[Client], object]) -> None:
    """Let the server die during the work, and start it again."""
    server.data.with_name("die-at").write_text(moment)
    with operator(server) as client, pytest.raises(PostroadError):
        work(client)
    eventually(lambda: not server.is_running, WAIT_S)
    server.start()


def test_a_secret_survives_a_death_at_each_step_of_its_change(tmp_path: Path) -> None:
    with network(tmp_path) as (server, receiving, key):
        with operator(server) as client:
            client.secrets.set("TheAcmeCompany", "hook", "first")
        current = "first"
        for moment, applies in CHANGES if HAS_TIME else CHANGES[1:3]:
            die(server, moment, lambda client: client.secrets.set("TheAcmeCompany", "hook", "changed"))
            current = "changed" if applies else current
            assert pushed_token(server, receiving, key) == current, moment
        for moment in REMOVALS if HAS_TIME else REMOVALS[:1]:
            die(server, moment, lambda client: client.secrets.remove("TheAcmeCompany", "hook"))
            with operator(server) as client:
                assert client.secrets.list("TheAcmeCompany") == []
                client.secrets.set("TheAcmeCompany", "hook", f"after {moment}")
            assert pushed_token(server, receiving, key) == f"after {moment}"


def test_a_rotation_of_the_master_key_is_continued_after_each_death(tmp_path: Path) -> None:
    with network(tmp_path) as (server, receiving, key):
        with operator(server) as client:
            for owner in OWNERS:
                client.secrets.set(owner, "hook", f"of {owner}")
        server.stop()
        backup = shutil.copytree(server.data, tmp_path / "backup")
        server.settings["master_key"] = f"{NEW_KEY},{OLD_KEY}"
        server.start()
        for moment in REWRAPS if HAS_TIME else REWRAPS[2:]:
            die(server, moment, lambda client: client.secrets.rotate_master())
            assert pushed_token(server, receiving, key) == f"of {INBOX}"
        with operator(server) as client:
            assert client.secrets.rotate_master().sealed_again == 0  # the last death was after the last key
            assert [(one.in_use, one.sealed_keys) for one in client.secrets.keys().master_keys] == [
                (True, 2),
                (False, 0),
            ]
        server.stop()
        server.settings["master_key"] = NEW_KEY
        server.start()
        assert pushed_token(server, receiving, key) == f"of {INBOX}"
        server.stop()
        server.settings["master_key"] = OLD_KEY  # an old key alone, as after a restore of old settings
        with pytest.raises(AssertionError, match="add the missing key"):
            server.start()
        server.settings["data"] = backup  # from before the rotation, which the old key opens
        server.start()
        assert pushed_token(server, receiving, key) == f"of {INBOX}"


def test_a_rotation_of_the_token_key_is_continued_after_each_death(tmp_path: Path) -> None:
    with network(tmp_path) as (server, _, key), Client(access=Access.with_key(server.url, key)) as sender:
        sender.post_message(Message(to=(Recipient(SENDER),), handle="before"))
        [early] = sender.poll()
        for moment in NEW_TOKEN_KEYS if HAS_TIME else ["before save_token_key#3"]:  # at last, the new key does not sign
            die(server, moment, lambda client: client.secrets.rotate_token())
        with operator(server) as client:
            eventually(lambda: [one.state for one in client.secrets.keys().token_keys] == ["old", "in use"], WAIT_S)
        assert [one.code for one in sender.acknowledge(early).settled] == [""]
        sender.post_message(Message(to=(Recipient(SENDER),), handle="after"))
        [late] = sender.poll()
        assert [one.code for one in sender.acknowledge(late).settled] == [""]


def test_an_unavailable_store_is_no_success(tmp_path: Path) -> None:
    with network(tmp_path) as (server, _, _), operator(server) as client:
        (server.data / "secrets.sqlite").write_bytes(b"damaged" * 1_000)
        with pytest.raises(Unavailable, match=r"storage\.failed"):
            client.secrets.set("TheAcmeCompany", "hook", "never")
