"""kill -9 while dead letters are resent: each is resent once, in whichever life of the server; none is lost or repeated."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from postroad.client import Access, Client, Received, Reply, Status
from postroad.client.retries import Retrying
from postroad.core.resources.dead_letters import LetterResult
from postroad.errors import PostroadError
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import serving
from tests.waiting import eventually

SENDER, STAMPER, INBOX = "MyBiz/Purchasing", "Stamps/Stamper", "TheAcmeCompany/Inbox"
KILLS = 6 * int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
LETTERS = 100
SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32}
FEW = 5  # in a call, so that a death comes between calls and amid one


def client(server: ServerProcess, key: str, tries: int = 10) -> Client:
    return Client(access=Access.with_key(server.url, key), retrying=Retrying(tries=tries))


def fail_all(server: ServerProcess, keys: dict[str, str]) -> list[str]:
    """Sessions of messages that a service on their way has answered with an error."""
    with client(server, keys[SENDER]) as sender, client(server, keys[STAMPER]) as stamper:
        sessions = [sender.post(to=INBOX, route=[STAMPER], document=f"<o n='{n}'/>").session for n in range(LETTERS)]
        answered = 0
        while answered < LETTERS:
            for message in stamper.poll(100, wait_s=10):
                stamper.reply(message, Reply(status=Status("no-ink", "the pad is dry")))
                answered += 1
    return sessions


class Resending(threading.Thread):
    """Resends what there is, a few at a time, and keeps what it was told; the server may die meanwhile."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.told: list[LetterResult] = []
        self.found_none = False
        self.over = False

    def wait_for_some(self, more: int) -> None:
        """Return in the midst of it."""
        until = len(self.told) + more
        eventually(lambda: len(self.told) >= until or self.found_none, every_s=0.001)

    def run(self) -> None:
        with client(self.server, self.server.operator_key, tries=1) as operator:
            while not self.over:
                try:
                    letters = operator.get("/v1/dead-letters", limit=FEW)["items"]
                    self.found_none = not letters
                    for letter in letters:
                        number = operator.dead_letters.resend(letter["delivery"], reason="mended")
                        self.told.append(LetterResult(letter=letter["delivery"], delivery=number))
                except PostroadError:
                    time.sleep(0.02)  # sleeps: a client that was refused pauses


def received(server: ServerProcess, key: str, expected: int) -> list[Received]:
    found: list[Received] = []
    with client(server, key) as stamper:
        while len(found) < expected:
            messages = stamper.poll(100, wait_s=30, lease_s=3600)
            assert messages, f"only {len(found)} of {expected} came again"
            found += messages
        return found + stamper.poll(100)


@pytest.mark.req("D7")
@pytest.mark.parametrize("acceptance", ["local", "shared"])
def test_each_letter_is_resent_once_over_deaths(
    tmp_path: Path, acceptance: str, request: pytest.FixtureRequest
) -> None:
    print(f"seed {SEED}: repeat with POSTROAD_TEST_SEED={SEED}")
    chance = Random(SEED)
    settings: dict[str, object] = {"segment_bytes": 4 << 20}
    if acceptance == "shared":
        settings |= SHARED | {"postgres": request.getfixturevalue("postgres_database")}
    with serving(tmp_path / "data", SENDER, STAMPER, INBOX, settings=settings) as (server, keys):
        sessions = fail_all(server, keys)
        resending = Resending(server)
        resending.start()
        for _ in range(KILLS):
            resending.wait_for_some(5)
            time.sleep(chance.uniform(0.0, 0.01))  # sleeps: the kill comes at a random moment
            server.kill()
            server.start()
        with client(server, server.operator_key) as operator:
            eventually(lambda: not operator.dead_letters.count()["matches"], 120, why="letters are left")
        resending.over = True
        resending.join(20)
        again = received(server, keys[STAMPER], LETTERS)
    rounds = Counter(message.session for message in again)
    print(f"{KILLS} deaths, {len(resending.told)} of {LETTERS} resends were answered")
    assert set(rounds) == set(sessions)
    assert set(rounds.values()) == {1}
    told = [one.letter for one in resending.told]
    assert len(set(told)) == len(told), "a letter was said to be resent twice"
