"""kill -9 around the receiver's yes to a push: at most that one push comes again, with the same id, and nothing is lost."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from postroad.client import Access, Client
from postroad.client.retries import Retrying
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication
from postroad.core.model.message import Message, Part, Recipient
from postroad.errors import PostroadError
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import Party, serving
from tests.samples.push_receiver import YES, Answer, Pushed, Receiver, receiver
from tests.waiting import eventually

SENDER, INBOX, PATH = "MyBiz/Purchasing", "TheAcmeCompany/Inbox", "/inbox"
KILLS = int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))  # multiplies the rounds
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
SETTINGS = {"push_allow_private": "127.0.0.0/8", "segment_bytes": 4 << 20}


def pushed_to(receiving: Receiver) -> Party:
    push = Push(url=receiving.url(PATH), authentication=PushAuthentication.NONE)
    return Party(address=INBOX, profile={"delivery": DeliveryMode.PUSH, "push": push})


class Killer:
    """Ends the server once for each new push: before its receiver says yes, or so many seconds after."""

    def __init__(self, server: ServerProcess, delay_s: Callable[[], float | None]) -> None:
        self._server = server
        self._delay_s = delay_s
        self._seen: set[str] = set()
        self.killed = threading.Event()

    def answer(self, pushed: Pushed) -> Answer:
        if pushed.id in self._seen:
            return YES
        self._seen.add(pushed.id)
        delay_s = self._delay_s()
        if delay_s is None:
            self._kill()
        else:
            threading.Timer(delay_s, self._kill).start()
        return YES

    def _kill(self) -> None:
        self._server.kill()
        self.killed.set()


def post(client: Client, text: str) -> None:
    """Post; the server may be dead before it has said that it has the message."""
    part = Part(id="1", content_type="text/plain", data=text.encode())
    try:
        client.post_message(Message(to=(Recipient(INBOX),), parts=(part,)))
    except PostroadError:
        return


def one_round(server: ServerProcess, key: str, receiving: Receiver, killer: Killer, text: str) -> None:
    """A post, a push, a death, and a new life in which the push has come to its end."""
    killer.killed.clear()
    with Client(access=Access.with_key(server.url, key), retrying=Retrying(tries=1)) as client:
        post(client, text)
        assert killer.killed.wait(90)
        first = next(one for one in receiving.at(PATH) if one.delivered.parts[0].data == text.encode())
        server.start()
        session = first.delivered.session
        eventually(lambda: client.trace(session).messages[0].copies[0].state == "delivered", 90)


@pytest.mark.req("D3")
@pytest.mark.parametrize("when", ["before the yes", "after the yes"])
def test_a_push_that_a_death_interrupts_comes_again_once_with_its_id(tmp_path: Path, when: str) -> None:
    chance = Random(SEED)
    print(f"seed {SEED}: repeat with POSTROAD_TEST_SEED={SEED}")
    delay_s = (lambda: None) if when == "before the yes" else (lambda: chance.uniform(0.0, 0.004))
    rounds = 3 * KILLS if when == "before the yes" else 6 * KILLS
    with (
        receiver() as receiving,
        serving(tmp_path / "data", SENDER, pushed_to(receiving), settings=SETTINGS) as (
            server,
            keys,
        ),
    ):
        killer = Killer(server, delay_s)
        receiving.answers[PATH] = killer.answer
        for number in range(rounds):
            one_round(server, keys[SENDER], receiving, killer, f"message {number}")
        receiving.answers[PATH] = lambda _: YES
        before = len(receiving.at(PATH))
        with Client(access=Access.with_key(server.url, keys[SENDER])) as client:
            post(client, "the last")
        *_, last = receiving.wait_for(PATH, before + 1)  # what is due has come before it
        assert last.delivered.parts[0].data == b"the last"
        seen = [one for one in receiving.at(PATH) if one.id != last.id]
        pushes = Counter(one.id for one in seen)
        sessions = {one.delivered.session: one.id for one in seen}
    print(f"{rounds} deaths, {sum(pushes.values()) - len(pushes)} repetitions")
    assert len(pushes) == len(sessions) == rounds
    assert max(pushes.values()) <= 2
    if when == "before the yes":
        assert set(pushes.values()) == {2}


@pytest.mark.req("D3")
def test_deaths_during_a_hanging_push_use_up_no_tries(tmp_path: Path) -> None:
    deaths = 3 * KILLS
    hanging, hung, release = threading.Event(), threading.Semaphore(0), threading.Event()
    hanging.set()

    def answer(pushed: Pushed) -> Answer:
        if not hanging.is_set():
            return Answer(status=503)
        hung.release()
        release.wait(60)
        return YES

    with receiver() as receiving:
        push = Push(url=receiving.url(PATH), authentication=PushAuthentication.NONE, tries=1)
        party = Party(address=INBOX, profile={"delivery": DeliveryMode.PUSH, "push": push})
        receiving.answers[PATH] = answer
        with serving(tmp_path / "data", SENDER, party, settings=SETTINGS) as (server, keys):
            access = Access.with_key(server.url, keys[SENDER])
            with Client(access=access, retrying=Retrying(tries=1)) as client:
                part = Part(id="1", content_type="text/plain", data=b"hello")
                session = client.post_message(Message(to=(Recipient(INBOX),), parts=(part,))).session
                for number in range(deaths):
                    assert hung.acquire(timeout=90)
                    server.kill()
                    if number == deaths - 1:
                        hanging.clear()
                    server.start()
                eventually(lambda: client.trace(session).messages[0].copies[0].state == "failed", 90)
                copy = client.trace(session).messages[0].copies[0]
                release.set()
    assert "tried once" in copy.stops[-1].events[-1].detail
