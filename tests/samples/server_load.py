"""Posters, bulk posters and receivers that keep a server busy until it is gone, and write all answers into a ledger."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from postroad.core.codecs.bulk import decode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Delivered, Message, Part, PostResult, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.errors import Refused
from postroad.testing.http_client import ClientConnection, ConnectionGone
from tests.samples.server_ledger import Ledger

SENDER, RECEIVER = "MyBiz/Purchasing", "Acme/Supply"
PAYLOAD_BYTES = 2_000
BUSY = frozenset({"network.busy", "network.unavailable", "storage.full", "storage.failed"})
PAUSE_S = 0.02


@dataclass(slots=True)
class Load:
    """The clients of one server, over all its lives."""

    port: int
    keys: dict[str, str]
    chance: Random
    ledger: Ledger = field(default_factory=Ledger)
    unanswered: set[str] = field(default_factory=set)  # handles to be posted again
    lease_s: float = 60.0
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    ending: bool = False
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(
        self,
        seconds: float,
        *,
        accepted: int = 0,
        acknowledged: int = 0,
        singles: int = 6,
        bulks: int = 3,
        receivers: int = 2,
    ) -> None:
        """Start clients and let them work for that time, and until so many messages were accepted and acknowledged in all.

        They continue until ``ended``, or until the server is gone.
        """
        clients = [self.single_poster] * singles + [self.bulk_poster] * bulks + [self.receiver] * receivers
        started = [asyncio.create_task(self._until_gone(client)) for client in clients]
        self._tasks += started
        _, working = await asyncio.wait(started, timeout=seconds)
        ledger = self.ledger
        while working and (len(ledger.sessions) < accepted or len(ledger.acknowledged_at) < acknowledged):
            _, working = await asyncio.wait(working, timeout=0.02)

    async def ended(self) -> None:
        """Wait until every client has had its answer or has seen that none will come."""
        self.ending = True
        await asyncio.gather(*self._tasks)
        self._tasks.clear()
        self.ending = False

    async def _until_gone(self, client: Callable[[ClientConnection, ClientConnection], Awaitable[None]]) -> None:
        async with (
            ClientConnection(self.port, self.keys[SENDER]) as posting,
            ClientConnection(self.port, self.keys[RECEIVER]) as receiving,
        ):
            try:
                while not self.ending:
                    await client(posting, receiving)
            except ConnectionGone:
                return

    # ---- posting

    async def single_poster(self, posting: ClientConnection, receiving: ClientConnection) -> None:
        handle = self._old_or_new_handle()
        self.unanswered.add(handle)  # so that another client may post it at the same time: only one must be taken
        answer = await posting.post("/v1/messages", JSON_FORM.encode_post(self._message(handle)))
        accepted = answer.status == 202
        await self._enter(handle, (JSON_FORM.decode_result if accepted else JSON_FORM.decode_refusal)(answer.body))

    async def bulk_poster(self, posting: ClientConnection, receiving: ClientConnection) -> None:
        size = self.chance.randrange(100, 201)
        again = sorted(self.unanswered)[: size // 2]
        self.unanswered.difference_update(again)  # or every bulk would take the same ones
        await self._post_bulk(posting, again + [self._new_handle() for _ in range(size - len(again))])

    async def _post_bulk(self, posting: ClientConnection, handles: list[str]) -> None:
        body = ENVELOPE_FORM.encode_posts([self._message(handle) for handle in handles])
        try:
            answer = await posting.post("/v1/messages/bulk", body, ENVELOPES)
        except ConnectionGone:
            self.unanswered.update(handles)
            raise
        if answer.status != 200:
            self.unanswered.update(handles)
            await self._enter_refusal(JSON_FORM.decode_refusal(answer.body))
            return
        for handle, result in zip(handles, decode_bulk_answer(ENVELOPES, answer.body), strict=True):
            await self._enter(handle, result)

    async def _enter(self, handle: str, result: PostResult | Refused) -> None:
        if isinstance(result, PostResult):
            self.ledger.accept(handle, result.session)
        elif result.code == "message.duplicate":
            self.ledger.duplicate(handle, result.session)
        else:
            self.unanswered.add(handle)
            await self._enter_refusal(result)
            return
        self.unanswered.discard(handle)

    async def _enter_refusal(self, refusal: Refused) -> None:
        if refusal.code not in BUSY:
            self.ledger.faults.append(f"a good post was refused: {refusal.code}: {refusal.detail}")
        await asyncio.sleep(PAUSE_S)  # sleeps: a client that was refused pauses

    def _old_or_new_handle(self) -> str:
        if self.unanswered and self.chance.random() < 0.2:
            return next(iter(self.unanswered))
        return self._new_handle()

    def _new_handle(self) -> str:
        handle = f"h{next(self.numbers)}"
        self.ledger.send(handle, payload(handle))
        return handle

    def _message(self, handle: str) -> Message:
        part = Part(id="d1", content_type="application/octet-stream", data=payload(handle))
        return Message(to=(Recipient(RECEIVER),), handle=handle, possible_duplicate=True, parts=(part,))

    # ---- receiving

    async def receiver(self, posting: ClientConnection, receiving: ClientConnection) -> None:
        messages = await self.polled(receiving, self.chance.randrange(1, 300))
        fate = self.chance.random()
        if fate < 0.8:
            await self.acknowledge(receiving, messages)
        elif fate < 0.9:
            await self._settle(receiving, messages, Outcome.NACK)
        # else: forgotten; it comes again when the lease is over or lost

    async def polled(self, receiving: ClientConnection, most: int = 300, wait_s: float = 0.05) -> list[Delivered]:
        asked_at = time.monotonic()
        request = PollRequest(max=most, wait_s=wait_s, lease_s=self.lease_s)
        answer = await receiving.post("/v1/poll", ENVELOPE_FORM.encode_poll(request), ENVELOPE_FORM.media_type)
        if answer.status != 200:
            await self._enter_refusal(ENVELOPE_FORM.decode_refusal(answer.body))
            return []
        messages = ENVELOPE_FORM.decode_delivered(answer.body)
        for message in messages:
            data = message.parts[0].data
            self.ledger.hand_out(message.handle, message.session, message.token, message.attempt, data, asked_at)
        return messages

    async def acknowledge(self, receiving: ClientConnection, messages: list[Delivered]) -> None:
        if messages and await self._settle(receiving, messages, Outcome.ACK):
            self.ledger.acknowledge([message.token for message in messages], time.monotonic())

    async def _settle(self, receiving: ClientConnection, messages: list[Delivered], outcome: Outcome) -> bool:
        if not messages:
            return False
        settlement = Settlement(tokens=tuple(message.token for message in messages), outcome=outcome)
        answer = await receiving.post("/v1/ack", JSON_FORM.encode_settlement(settlement))
        if answer.status != 200:
            await self._enter_refusal(JSON_FORM.decode_refusal(answer.body))
            return False
        refused = [settled for settled in JSON_FORM.decode_settlement_result(answer.body).settled if settled.code]
        self.ledger.faults += [f"a token that was handed out is not known: {settled.code}" for settled in refused]
        return not refused

    # ---- afterwards

    async def drain(self, quiet_s: float) -> None:
        """Post what had no answer again, then receive and acknowledge until nothing has come for a while."""
        async with (
            ClientConnection(self.port, self.keys[SENDER]) as posting,
            ClientConnection(self.port, self.keys[RECEIVER]) as receiving,
        ):
            while self.unanswered:
                await self._post_bulk(posting, sorted(self.unanswered)[:200])
            quiet_since = time.monotonic()
            while time.monotonic() < quiet_since + quiet_s:
                if messages := await self.polled(receiving, 1000, wait_s=quiet_s):
                    await self.acknowledge(receiving, messages)
                    quiet_since = time.monotonic()

    async def post_again(self, most: int) -> None:
        """Duplicates of accepted posts must be answered with their first session, which the ledger compares."""
        handles = self.chance.sample(sorted(self.ledger.sessions), min(most, len(self.ledger.sessions)))
        before = self.ledger.duplicates
        async with ClientConnection(self.port, self.keys[SENDER]) as posting:
            for handle in handles:
                answer = await posting.post("/v1/messages", JSON_FORM.encode_post(self._message(handle)))
                if answer.status != 409:
                    self.ledger.faults.append(f"{handle} was taken twice: {answer.status} {answer.body!r}")
                await self._enter(handle, JSON_FORM.decode_refusal(answer.body))
        assert self.ledger.duplicates == before + len(handles)


def payload(handle: str) -> bytes:
    """Two kilobytes that nobody could have made up for another handle."""
    return handle.encode() + b"|" + Random(handle).randbytes(PAYLOAD_BYTES)


__all__ = ["RECEIVER", "SENDER", "Load", "payload"]
