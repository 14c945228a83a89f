"""Damages the index of a network at random places and requires that every waiting message is handed out all the same.

    python -m tests.faults.index_damage [--rounds 40] [--seed 1] [--messages 1200]

A round copies a stopped network with waiting messages, damages 1 byte to 4 KiB of its ``index.sqlite`` (before the server
starts, or while it runs, or after it was killed) and drains the mailbox. A round fails if a message is lost, occurs twice or is
changed, if a poll is answered by anything but 200 or a 503 that passes, or if ``verify`` calls an index undamaged that is not.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from postroad.core.codecs.bulk import decode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.model.message import Message, Part, PostResult, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection
from postroad.testing.server import COMMAND, ServerProcess
from tests.samples.aftermath import require_whole
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, payload

DRAIN_S = 120.0
PAGE = 100
MOMENTS = ("before the start", "while it runs", "after a kill")


class Template(NamedTuple):
    """A stopped network: its data, its key for the recipient, and what waits there in this order."""

    data: Path
    key: str
    waiting: list[tuple[str, bytes]]  # session and document


class Damage(NamedTuple):
    moment: str
    share: float  # of the file's length
    data: bytes

    @classmethod
    def random(cls, chance: Random) -> Damage:
        size = int(2 ** chance.uniform(0, 12))
        return cls(chance.choice(MOMENTS), chance.random(), chance.randbytes(size))

    def do(self, index: Path) -> None:
        place = int(self.share * max(0, index.stat().st_size - len(self.data)))
        with index.open("r+b") as file:
            file.seek(place)
            before = file.read(len(self.data))
            file.seek(place)
            file.write(bytes(old ^ (new or 0xFF) for old, new in zip(before, self.data, strict=False)))

    def __str__(self) -> str:
        return f"{len(self.data)} bytes at {self.share:.4f} {self.moment}"


async def make_template(folder: Path, messages: int) -> Template:
    server = ServerProcess(folder / "template", {"segment_bytes": 1 << 20})
    keys = await enroll(server, SENDER, RECEIVER)
    waiting: list[tuple[str, bytes]] = []
    with server:
        async with ClientConnection(server.port, keys[SENDER]) as posting:
            for first in range(0, messages, PAGE):
                handles = [f"m{number}" for number in range(first, min(first + PAGE, messages))]
                body = ENVELOPE_FORM.encode_posts([_message(handle) for handle in handles])
                answer = await posting.post("/v1/messages/bulk", body, ENVELOPES)
                for handle, result in zip(handles, decode_bulk_answer(ENVELOPES, answer.body), strict=True):
                    assert isinstance(result, PostResult), result
                    waiting.append((result.session, payload(handle)))
        assert server.stop() == 0
    return Template(server.data, keys[RECEIVER], waiting)


def _message(handle: str) -> Message:
    part = Part(id="d1", content_type="application/octet-stream", data=payload(handle))
    return Message(to=(Recipient(RECEIVER),), handle=handle, parts=(part,))


async def one_round(template: Template, data: Path, damage: Damage) -> str:
    """Live through the damage; returns what the network did about it."""
    shutil.copytree(template.data, data)
    server, index = ServerProcess(data, {"segment_bytes": 1 << 20}), data / "index.sqlite"
    received: list[tuple[str, bytes]] = []
    if damage.moment == "before the start":
        damage.do(index)
    with server:
        async with ClientConnection(server.port, template.key) as receiving:
            if damage.moment != "before the start":
                await _drain(receiving, received, PAGE)
            if damage.moment == "while it runs":
                damage.do(index)
            if damage.moment != "after a kill":
                await _drain(receiving, received, len(template.waiting))
        if damage.moment == "after a kill":
            server.kill()
            damage.do(index)
            server.start()
            async with ClientConnection(server.port, template.key) as receiving:
                await _drain(receiving, received, len(template.waiting))
        assert server.stop() == 0
    assert received == template.waiting, f"{len(received)} of {len(template.waiting)} received, or in another order"
    verified = await asyncio.to_thread(_verify, data)
    if verified.returncode == 0:
        await require_whole(data)
        return "rebuilt" if "has to be rebuilt" in server.log else "undamaged"
    assert "complete and unchanged" in verified.stdout, verified.stdout + verified.stderr
    assert f"index {index}" in verified.stdout, verified.stdout + verified.stderr
    return "found by verify"


def _verify(data: Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND[:-1], "verify", "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


async def _drain(receiving: ClientConnection, received: list[tuple[str, bytes]], most: int) -> None:
    """Poll and acknowledge until so many have been received in all, or nothing more waits."""
    deadline = time.monotonic() + DRAIN_S
    while len(received) < most:
        asked = PollRequest(max=min(PAGE, most - len(received)), wait_s=0.2, lease_s=600)
        polled = await receiving.post("/v1/poll", ENVELOPE_FORM.encode_poll(asked), ENVELOPE_FORM.media_type)
        assert time.monotonic() < deadline, f"not drained within {DRAIN_S} s: {polled.status} {polled.body[:500]!r}"
        if polled.status == 503:
            await asyncio.sleep(0.1)  # sleeps: between two tries while the server is unavailable
            continue
        assert polled.status == 200, (polled.status, polled.body)
        messages = ENVELOPE_FORM.decode_delivered(polled.body)
        if not messages:
            return
        await _acknowledge(receiving, tuple(message.token for message in messages), deadline)
        received += [(message.session, bytes(message.parts[0].data)) for message in messages]


async def _acknowledge(receiving: ClientConnection, tokens: tuple[str, ...], deadline: float) -> None:
    body = ENVELOPE_FORM.encode_settlement(Settlement(tokens=tokens))
    while (answer := await receiving.post("/v1/ack", body, ENVELOPE_FORM.media_type)).status == 503:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)  # sleeps: between two tries while the server is unavailable
    assert answer.status == 200, (answer.status, answer.body)


async def run(rounds: int, seed: int, messages: int) -> int:
    chance, failed = Random(seed), 0
    with tempfile.TemporaryDirectory(prefix="postroad-index-damage-") as folder:
        template = await make_template(Path(folder), messages)
        for number in range(rounds):
            damage = Damage.random(chance)
            try:
                outcome = await one_round(template, Path(folder) / f"round{number}", damage)
            except Exception as error:
                failed += 1
                outcome = f"FAILED: {error}"
            print(f"{number + 1:3} {damage}: {outcome}", flush=True)
            shutil.rmtree(Path(folder) / f"round{number}", ignore_errors=True)
    print(f"{rounds} damaged indexes, {failed} with a loss or a wrong answer")
    return 1 if failed else 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=40)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--messages", type=int, default=1_200)
    chosen = arguments.parse_args()
    return asyncio.run(run(chosen.rounds, chosen.seed, chosen.messages))


if __name__ == "__main__":
    sys.exit(main())
