"""A simulated service: its calls to the network, and its retries.

Rule: a service that gets no response retries idempotently, as every client should.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel
from postroad.core.model.message import Delivered, Message, MessageType, Part, PostResult, Status
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Settlement, SettlementResult
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.network import Network
from postroad.flow.stages.posting import Answer, Posting
from postroad.testing.simulation.network import ConnectionLost, SimulatedNetwork
from postroad.testing.simulation.observations import EmptiedMailbox, Observations

TRY_AGAIN_S = (0.5, 20.0)
DONE_BEFORE = (
    "message.duplicate",
    "reference.answered",
)  # refusals which mean that the first post was accepted


class SimulatedService:
    """One simulated service with its own random numbers, independent of other services' draws."""

    def __init__(
        self, gcid: str, address: str, running: SimulatedNetwork, ledger: Observations, chance: Random
    ) -> None:
        self.gcid = gcid
        self.address = address
        self.ledger = ledger
        self.chance = chance
        self._running = running
        self._works: dict[asyncio.Task[None], None] = {}

    @property
    def now_us(self) -> int:
        return self._running.clock.now_us()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work in the background."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self.address} at work")
        self._works[task] = None
        task.add_done_callback(self._ended)

    def leave(self) -> None:
        """Stop all background work."""
        for work in list(self._works):
            work.cancel()

    async def poll(self, request: PollRequest, leaves_after_s: float = 0.0) -> list[Delivered]:
        """Poll; returns nothing, after a pause, if the network cannot be reached or the service leaves."""
        asked_us = self.now_us
        wait = InterruptibleWait()

        async def question(network: Network) -> list[Delivered]:
            delivered = await network.poll(self._caller(network), request, wait)
            for one in delivered:
                self.ledger.hand_out(asked_us, self.now_us, self.gcid, one)
            if len(delivered) < request.max and request.select == EVERYTHING and not wait.cancelled:
                self.ledger.emptied.setdefault(self.gcid, []).append(EmptiedMailbox(asked_us, self.now_us))
            return delivered

        if leaves_after_s:
            asyncio.get_running_loop().call_later(leaves_after_s, wait.cancel)
        try:
            delivered = await self._running.ask(question)
            return [] if wait.cancelled else delivered
        except (ConnectionLost, Unavailable):
            await self.pause()
            return []
        except Refused as refusal:  # suspended services cannot poll
            self.ledger.refusals[refusal.code] += 1
            await self.pause()
            return []

    async def post(self, message: Message) -> str:
        """Post a message; returns its session, or an empty text if it was refused."""
        sent = message
        while True:
            try:
                session = (await self._post(sent)).session
            except (ConnectionLost, Unavailable):
                sent = replace(message, possible_duplicate=True)
                await self.pause()
            except Refused as refusal:
                self.ledger.refusals[refusal.code] += 1
                if refusal.code not in DONE_BEFORE:
                    return ""
                session = refusal.session
                break
            else:
                break
        self.ledger.accepted[session] = message.handle
        return session

    async def post_many(self, messages: Sequence[Message]) -> None:
        """Post in one call; posts without a result are repeated one by one."""
        try:
            answers = await self._post_many(messages)
        except ConnectionLost:
            answers = {}
        for place, message in enumerate(messages):
            match answers.get(place):
                case PostResult(session=session):
                    self.ledger.accepted[session] = message.handle
                case Refused(code=code):
                    self.ledger.refusals[code] += 1
                case _:
                    await self.post(replace(message, possible_duplicate=True))

    async def answer(
        self, delivered: Delivered, *, status: Status | None = None, parts: tuple[Part, ...] = (), token: str = ""
    ) -> str:
        """Respond to a delivery; returns the code of the refusal, or an empty text."""
        message = Message(
            type=MessageType.RESPONSE, reference=token or delivered.token, status=status, parts=parts, handle=""
        )
        while True:
            try:
                await self._post(message)
            except (ConnectionLost, Unavailable):
                await self.pause()
            except Refused as refusal:
                self.ledger.refusals[refusal.code] += 1
                return refusal.code
            else:
                self.ledger.answer(message.reference, self.now_us)
                return ""

    async def cancel(self, session: str) -> None:
        """Try to withdraw a message of any sender."""
        while True:
            try:
                told = await self._post(Message(type=MessageType.CANCEL, reference=session))
            except (ConnectionLost, Unavailable):
                await self.pause()
            except Refused as refusal:
                self.ledger.refusals[refusal.code] += 1
                return
            else:
                self.ledger.withdrawn.append((session, self.gcid, tuple(one.code for one in told.recipients)))
                return

    async def settle(self, tokens: tuple[str, ...], outcome: Outcome = Outcome.ACK, delay_s: float = 0.0) -> None:
        """Acknowledge, or give back."""
        settlement = Settlement(tokens=tokens, outcome=outcome, delay_s=delay_s, reason="not now")
        while True:
            try:
                told = await self._settle(settlement)
            except (ConnectionLost, Unavailable):
                await self.pause()
            else:
                break
        for one in told.settled:
            if not one.code and outcome is Outcome.ACK:
                self.ledger.acknowledge(one.token, self.now_us)

    async def pause(self) -> None:
        await asyncio.sleep(self.chance.uniform(*TRY_AGAIN_S))

    async def _post(self, message: Message) -> PostResult:
        async def question(network: Network) -> PostResult:
            return await network.post(self._caller(network), message, form="simulated")

        return await self._running.ask(question)

    async def _post_many(self, messages: Sequence[Message]) -> dict[int, Answer]:
        async def question(network: Network) -> dict[int, Answer]:
            answers: dict[int, Answer] = {}
            done = asyncio.Event()

            def answered(place: int, answer: Answer) -> None:
                if place in answers:
                    self.ledger.wrongs.append(f"a post was answered twice: {answers[place]}, then {answer}")
                answers[place] = answer
                if len(answers) == len(messages):
                    done.set()

            postings = [Posting(message, 0, "simulated") for message in messages]
            network.submit_many(self._caller(network), postings, answered)
            await done.wait()
            return answers

        return await self._running.ask(question)

    async def _settle(self, settlement: Settlement) -> SettlementResult:
        async def question(network: Network) -> SettlementResult:
            return await network.settle(self._caller(network), settlement)

        return await self._running.ask(question)

    def _caller(self, network: Network) -> Caller:
        return Caller(service=network.directory.services[self.gcid], level=AuthenticationLevel.KEY)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._works.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.ledger.wrongs.append(f"{task.get_name()} received {error!r}")
