"""Posts on a schedule that does not wait for answers, over several connections, and what was answered."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message, Part, Recipient
from tests.waiting import eventually_async


class Refusal(NamedTuple):
    status: int
    code: str
    retry_after_s: int  # 0: none was sent


def post_request(key: str, to: str, body_bytes: int) -> bytes:
    part = Part(id="d1", content_type="application/octet-stream", data=bytes(body_bytes))
    body = JSON_FORM.encode_post(Message(to=(Recipient(to),), parts=(part,)))
    fields = f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n".encode() + body


class Flood:
    """Offers posts at a rate, over several connections in turn; counts what is accepted and what is refused."""

    def __init__(self, port: int, request: bytes, connections: int) -> None:
        self._port = port
        self._request = request
        self._count = connections
        self.sent = 0
        self.accepted: list[str] = []  # sessions
        self.refused: Counter[Refusal] = Counter()

    @property
    def answered(self) -> int:
        return len(self.accepted) + self.refused.total()

    async def offer(self, rate: float, seconds: float) -> None:
        """Post at this rate, however fast answers arrive; returns when every post was answered."""
        loop = asyncio.get_running_loop()
        streams = [await asyncio.open_connection("127.0.0.1", self._port) for _ in range(self._count)]
        readers = [asyncio.create_task(self._read(reader)) for reader, _ in streams]
        began = loop.time()
        for number in range(int(rate * seconds)):
            if (early_s := began + number / rate - loop.time()) > 0:
                await asyncio.sleep(early_s)  # sleeps: the schedule
            streams[number % self._count][1].write(self._request)
            self.sent += 1
        await eventually_async(lambda: self.answered == self.sent, why="some posts were not answered")
        for _, writer in streams:
            writer.close()
        await asyncio.gather(*readers)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while status_line := await reader.readline():
            headers: dict[str, str] = {}
            while (line := await reader.readline()) != b"\r\n":
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            self._note(int(status_line.split()[1]), headers, await reader.readexactly(int(headers["content-length"])))

    def _note(self, status: int, headers: dict[str, str], body: bytes) -> None:
        if status == 202:
            self.accepted.append(JSON_FORM.decode_result(body).session)
        else:
            self.refused[Refusal(status, json.loads(body)["code"], int(headers.get("retry-after", "0")))] += 1


def require_clear(refusals: Sequence[Refusal], codes: set[str]) -> None:
    """Check that every refusal has one of these codes and says when to post again."""
    assert {refusal.code for refusal in refusals} <= codes
    assert all(refusal.retry_after_s >= 1 for refusal in refusals), refusals
