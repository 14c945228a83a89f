"""A full disk under the running server: posts are refused early, polls and acknowledgements go on, room makes all well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection, ClientResponse
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import hand_outs_in, require_whole
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER
from tests.waiting import eventually_async

MIB = 1 << 20
RECOVERY_S = 60.0
NO_ROOM = (sys.executable, str(Path(__file__).with_name("broken_server.py")), "no-room", "serve")
OWN_DISK = (sys.executable, str(Path(__file__).with_name("broken_server.py")), "own-disk", "serve")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 96 MB, where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("a disk that is really full needs the right to mount a tmpfs; the watermark is tried without it")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


class Customer:
    """Posts, polls and acknowledges, one after the other."""

    def __init__(self, server: ServerProcess, keys: dict[str, str]) -> None:
        self._keys = keys
        self.reconnect(server)
        self.accepted: list[str] = []
        self.received: list[str] = []

    def reconnect(self, server: ServerProcess) -> None:
        self.posting = ClientConnection(server.port, self._keys[SENDER])
        self.receiving = ClientConnection(server.port, self._keys[RECEIVER])

    async def post(self) -> ClientResponse:
        part = Part(id="d1", content_type="application/octet-stream", data=os.urandom(20_000))
        message = Message(to=(Recipient(RECEIVER),), parts=(part,))
        answer = await self.posting.post("/v1/messages", JSON_FORM.encode_post(message))
        if answer.status == 202:
            self.accepted.append(JSON_FORM.decode_result(answer.body).session)
        return answer

    async def receive(self, most: int) -> list[Delivered]:
        polled = await self.receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=most)))
        assert polled.status == 200, polled.body
        messages = JSON_FORM.decode_delivered(polled.body)
        if messages:
            settlement = Settlement(tokens=tuple(message.token for message in messages))
            settled = await self.receiving.post("/v1/ack", JSON_FORM.encode_settlement(settlement))
            assert settled.status == 200, settled.body
        self.received += [message.session for message in messages]
        return messages

    async def post_until(self, status: int, seconds: float) -> ClientResponse:
        async def answered() -> ClientResponse | None:
            answer = await self.post()
            return answer if answer.status == status else None

        return await eventually_async(answered, seconds, every_s=0.05, why=f"no {status} within {seconds} s")

    def close(self) -> None:
        self.posting.close()
        self.receiving.close()


async def live_through_a_full_disk(server: ServerProcess, filler: Path, filler_bytes: int) -> None:
    customer = Customer(server, await enroll(server, SENDER, RECEIVER))
    with server:
        for _ in range(60):
            assert (await customer.post()).status == 202
        fill(filler, filler_bytes)
        refused = await customer.post_until(507, RECOVERY_S)
        assert JSON_FORM.decode_refusal(refused.body).code == "storage.full"
        assert int(refused.headers["retry-after"]) > 0
        for _ in range(12):
            assert len(await customer.receive(4)) == 4
            assert (await customer.post()).status == 507
        filler.unlink()
        await customer.post_until(202, RECOVERY_S)
        while await customer.receive(100):
            pass
        assert customer.received == customer.accepted
        customer.close()
        assert server.stop() == 0
    await require_whole(server.data)


async def test_a_poll_whose_hand_out_cannot_be_written_is_refused(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", command=NO_ROOM)
    customer = Customer(server, await enroll(server, SENDER, RECEIVER))
    with server:
        for _ in range(20):
            assert (await customer.post()).status == 202
        no_room = tmp_path / "no-room"
        no_room.touch()
        request = JSON_FORM.encode_poll(PollRequest(max=100))
        for _ in range(3):
            refused = await customer.receiving.post("/v1/poll", request)
            assert (refused.status, JSON_FORM.decode_refusal(refused.body).code) == (507, "storage.full")
        no_room.unlink()
        messages = await customer.receive(100)
        assert [message.session for message in messages] == customer.accepted
        assert {message.attempt for message in messages} == {1}
        customer.close()
        assert server.stop() == 0
    assert await hand_outs_in(server.data) == dict.fromkeys(customer.accepted, 1)


def fill(path: Path, size: int) -> None:
    """Take so much of the disk, or all there is."""
    with path.open("wb", buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    return


async def test_posts_are_refused_below_the_watermark(tmp_path: Path) -> None:
    """How much is free on the machine's own disk changes while other tests run beside this one."""
    settings = {"segment_bytes": MIB, "least_free_bytes": 128 * MIB}
    server = ServerProcess(tmp_path / "data", settings, command=OWN_DISK)
    await live_through_a_full_disk(server, tmp_path / "filler", 192 * MIB)


async def test_a_disk_without_a_free_byte(small_disk: Path) -> None:
    server = ServerProcess(small_disk / "data", {"segment_bytes": MIB, "least_free_bytes": 16 * MIB})
    await live_through_a_full_disk(server, small_disk / "filler", 1 << 40)


async def test_a_server_killed_on_a_full_disk_starts_and_hands_out(small_disk: Path) -> None:
    """Not a byte is free: the index catches up in space reserved for it, acknowledgments go to the journal's reserve."""
    server = ServerProcess(small_disk / "data", {"segment_bytes": MIB, "least_free_bytes": 8 * MIB})
    customer = Customer(server, await enroll(server, SENDER, RECEIVER))
    filler = small_disk / "filler"
    with server:
        for _ in range(60):
            assert (await customer.post()).status == 202
        fill(filler, 1 << 40)
        await customer.post_until(507, RECOVERY_S)
        assert len(await customer.receive(4)) == 4
        customer.close()
        server.kill()
        fill(small_disk / "rest", 1 << 40)
        server.start()
        customer.reconnect(server)
        while await customer.receive(10):
            pass
        assert customer.received == customer.accepted
        filler.unlink()
        (small_disk / "rest").unlink()
        await customer.post_until(202, RECOVERY_S)
        while await customer.receive(100):
            pass
        assert customer.received == customer.accepted
        customer.close()
        assert server.stop() == 0
    await require_whole(server.data)
