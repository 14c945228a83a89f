"""The network façade: builds the stages and is the single entry point for HTTP, CLI and tests.

    decode → admit → route → enqueue → poll → acknowledge
                               ↑             ↘ answer → go on to the next stop, or return to the requester
                               └───────────────────────┘
    at any stage a delivery may expire, be cancelled or fail

Front ends (HTTP, SOAP, command line, tests) use this object and nothing below it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.identity.tokens import Tokens
from postroad.core.interchange.catalogue import BUILT_IN, StandardCatalogue
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.directory import OrganizationLimits
from postroad.core.model.history import History
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.core.model.reason import Reason
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.core.routing.forward import Forward
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.clock_steps import ClockSteps
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.registries.batches import BatchStore
from postroad.flow.registries.bindings import BindingRegistry
from postroad.flow.registries.configuration import Configuration
from postroad.flow.registries.exchanges import ExchangeRegistry
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.flow.registries.models import ModelRegistry
from postroad.flow.registries.push_control import PushControl
from postroad.flow.stages.accept import AcceptStage
from postroad.flow.stages.cancel import CancelStage
from postroad.flow.stages.deliver import DeliverStage, TraceReader
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.expire import ExpireStage
from postroad.flow.stages.explain import ExplainStage
from postroad.flow.stages.forward import ForwardResult, ForwardStage, do_nothing
from postroad.flow.stages.history import HistoryStage
from postroad.flow.stages.mailbox_time_limit import MailboxTimeLimit
from postroad.flow.stages.mediate import HandedDelivery, MediateStage
from postroad.flow.stages.partner_acknowledgments import PartnerAcknowledgments
from postroad.flow.stages.posting import Answer, Answered, AnsweredAt, Posting
from postroad.flow.stages.quota import Quota
from postroad.flow.stages.release import ReleaseStage
from postroad.flow.stages.resend import DeadLetterStage
from postroad.flow.stages.respond import RespondStage
from postroad.ports import Clock, Desk, IndexReader, Journal, Randomness


class Network:
    """The stages of one network, and the operations that front ends call."""

    def __init__(
        self,
        *,
        desk: Desk,
        journal: Journal,
        index: IndexReader,
        clock: Clock,
        randomness: Randomness,
        token_key: bytes,
        indexed: Callable[[], Awaitable[None]],
        limits: OrganizationLimits | None = None,
        standards: StandardCatalogue = BUILT_IN,
    ) -> None:
        self.desk = desk
        self.journal = journal
        self.index = index
        self.clock = clock
        self.randomness = randomness
        self.indexed = indexed
        self.standards = standards  # of interchanges, with those that plug-ins bring
        self.heavy = HeavyWork()  # of messages
        self.heavy_requests = HeavyWork()  # plans, exports, checks and trials: no message waits for them
        self.configuration = Configuration(desk, index, clock)
        directory = self.configuration.directory
        due = DueTimes()
        self.clock_steps = ClockSteps(clock)
        self.expires = due.note  # told of everything durable when it expires
        self.batches = BatchStore(desk, index, clock, indexed)
        self.ending = ending = EndStage(
            desk=desk,
            journal=journal,
            directory=directory,
            clock=clock,
            randomness=randomness,
            due=due,
            batches=self.batches,
        )
        desk.on_given_up(ending.give_up)
        cancelling = CancelStage(desk, index, clock, indexed, self.batches)
        self.tokens = tokens = Tokens(token_key)
        answers = RespondStage(
            desk=desk,
            journal=journal,
            randomness=randomness,
            tokens=tokens,
            ending=ending,
            cancelling=cancelling,
            heavy=self.heavy,
        )
        self.dead_letters = DeadLetterStage(desk, directory, clock, due)
        keeping = MailboxTimeLimit(desk, index, clock, ending, due, self.batches)
        self.configuration.on_change(keeping.follow)
        self.expiry = ExpireStage(
            index=index, clock=clock, ending=ending, keeping=keeping, due=due, indexed=indexed, batches=self.batches
        )
        self.allowances = Quota(index, directory, clock, indexed, limits or OrganizationLimits())
        self._open_stages(ending, answers, due)

    def _open_stages(self, ending: EndStage, answers: RespondStage, due: DueTimes) -> None:
        """The stages that callers reach through the façade's methods."""
        desk, journal, index, clock, randomness = self.desk, self.journal, self.index, self.clock, self.randomness
        directory, indexed, tokens = self.configuration.directory, self.indexed, self.tokens
        self.releases = ReleaseStage(desk, index, clock, indexed)
        self.exchanges = ExchangeRegistry(self.configuration)
        self.models = ModelRegistry(self.configuration)
        self.bindings = BindingRegistry(self.configuration)
        self.pushes = PushControl()
        self.clock_steps.add(due.look_again)
        self._accept = AcceptStage(
            desk=desk,
            journal=journal,
            directory=directory,
            clock=clock,
            randomness=randomness,
            answers=answers,
            allowances=self.allowances,
            expires=due.note,
            heavy=self.heavy,
        )
        self._deliver = DeliverStage(
            desk=desk,
            directory=directory,
            clock=clock,
            answers=answers,
            trail=TraceReader(index, indexed),
            tokens=tokens,
            ending=ending,
        )
        self.mediation = MediateStage(desk, clock, tokens, ending)
        self._explain = ExplainStage(
            journal=journal,
            index=index,
            directory=directory,
            clock=clock,
            indexed=indexed,
            veil=tokens.veil,
            heavy=self.heavy_requests,
        )
        self._answers = answers
        self._forward = ForwardStage(desk, directory, clock, randomness, due.note, self.heavy)
        self.partners = PartnerAcknowledgments(desk, clock, InterchangeRegistry(index, indexed), answers, self._forward)
        self._history = HistoryStage(journal, index, directory, indexed, tokens.veil, self.heavy_requests)

    @property
    def directory(self) -> Directory:
        return self.configuration.directory()

    def submit(self, caller: Caller, posting: Posting, answered: Answered) -> None:
        """Post without waiting; ``answered`` is called once, with success only when the message is durable."""
        self._accept.post(caller, posting, answered)

    def submit_many(self, caller: Caller, postings: Sequence[Posting], answered: AnsweredAt) -> None:
        """Post many messages without waiting; each is answered once, by its index."""
        self._accept.post_many(caller, postings, answered)

    def refuse(
        self, caller: Caller | None, refusal: Refused, size: int, answered: Answered, posting: Posting | None = None
    ) -> None:
        """Record a post that could not be decoded, and answer it."""
        self._accept.refuse(caller, posting, refusal, answered, size)

    async def post(
        self, caller: Caller, message: Message, *, size: int = 0, form: str = "python", idempotency: str = ""
    ) -> PostResult:
        """Post and wait; raises Refused or Unavailable."""
        return await self.carry_out(caller, Posting(message, size, form, idempotency))

    async def carry_out(self, caller: Caller, posting: Posting) -> PostResult:
        """Submit a posting and wait; raises Refused or Unavailable."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.submit(caller, posting, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        if isinstance(answer, Refused | Unavailable):
            raise answer
        return answer

    async def poll(
        self,
        caller: Caller,
        request: PollRequest,
        patience: InterruptibleWait | None = None,
        up_to: int = EVERY_NUMBER,
        early: bool = True,
    ) -> list[Delivered]:
        """Hand out waiting deliveries up to that number; ``early`` includes those that wait for their next push."""
        return await self._deliver.poll(caller, request, patience, up_to, early)

    async def poll_in_format(
        self, caller: Caller, request: PollRequest, patience: InterruptibleWait | None = None
    ) -> list[HandedDelivery]:
        """Poll with each message in the caller's format; messages that cannot be encoded fail."""
        began = self.clock.monotonic()
        while waiting := await self.poll(caller, request, patience):
            service = self.directory.services[waiting[0].recipient_gcid]
            if prepared := await self.mediation.prepare_for_poll(service, waiting):
                return prepared
            request = replace(request, wait_s=max(0.0, request.wait_s - (self.clock.monotonic() - began)))
        return []

    async def waiting(self, token: str, receiver: str) -> Delivered | None:
        """Return a delivery that this receiver (GCID) has not settled yet; None if it has."""
        return await self._deliver.waiting(token, receiver)

    async def settle(self, caller: Caller, settlement: Settlement, receipt: bytes | None = None) -> SettlementResult:
        """Settle deliveries; ``receipt`` is the proof that the receiver has a single one."""
        result = await self._deliver.settle(caller, settlement, receipt)
        self.batches.settled(
            [number for token in settlement.tokens if (number := self.tokens.number(token)) is not None]
        )
        return result

    def handed_out(self, queued: Queued, body: bytes) -> Delivered:
        """Return a delivery as its receiver sees it, for built-in services that claim at the desk."""
        return self._deliver.delivered(queued, body)

    async def forward(
        self,
        caller: Caller,
        delivered: Delivered,
        forwards: Sequence[Forward],
        on_its_way: Callable[[], None] = do_nothing,
    ) -> ForwardResult:
        """Forward a delivery from an exchange or model to its receivers; the delivery is settled later.

        Raises Refused if the delivery has ended meanwhile.
        """
        found = await self._answers.delivery(delivered.token, delivered.recipient_gcid)
        if found.state is not DeliveryState.QUEUED:
            raise Refused("delivery.over", "The delivery has already ended before it was forwarded")
        return await self._forward.forward(caller, delivered, found.queued, forwards, on_its_way)

    async def fail(self, delivered: Delivered, reason: Reason) -> None:
        """Fail a delivery that a built-in service holds: it becomes a dead letter."""
        number = self.tokens.number(delivered.token)
        if number is not None:
            await self.ending.fail(number, reason)

    async def explain(self, caller: Caller, message: Message) -> RouteExplanation:
        """Explain how a message would be routed; nothing is stored or sent."""
        return await self._explain.hypothetical(caller, message)

    async def explanation(self, session: str, organization: str | None) -> RouteExplanation | None:
        """Explain a posted message's route; with organization None in full, but without values."""
        return await self._explain.stored(session, organization)

    async def trace(self, session: str, organization: str | None, service: str = "") -> History | None:
        """Return the history of a session's transaction."""
        return await self._history.trace(session, organization, service)
