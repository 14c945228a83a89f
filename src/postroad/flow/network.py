"""The network: its stages put together, and the only place where their order is written.

    decode → admit → route → enqueue → poll → acknowledge
                               ↑             ↘ answer → go on to the next stop, or return to the requester
                               └───────────────────────┘
    what is due expires, and what is cancelled or fails comes to its end, whatever stage it is at

Front ends (HTTP, SOAP, command line, tests) talk to this object and to nothing below it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from postroad.core.audit.story import History
from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.identity.tokens import Tokens
from postroad.core.interchange.catalogue import BUILT_IN, Catalogue
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued, State
from postroad.core.model.directory import OrganizationLimits
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explanation import Explanation
from postroad.core.routing.forwards import Forward
from postroad.errors import Refused, Unavailable
from postroad.flow.accept import AcceptStage
from postroad.flow.allow import AllowStage
from postroad.flow.answer import AnswerStage
from postroad.flow.batch_book import BatchBook
from postroad.flow.binding_book import BindingBook
from postroad.flow.cancel import CancelStage
from postroad.flow.clock_steps import ClockSteps
from postroad.flow.configure import Configuration
from postroad.flow.dead_letters import DeadLetterStage
from postroad.flow.deliver import DeliverStage
from postroad.flow.due import DueTimes
from postroad.flow.end import EndStage
from postroad.flow.exchange_book import ExchangeBook
from postroad.flow.expire import ExpireStage
from postroad.flow.explain import ExplainStage
from postroad.flow.forward import ForwardStage, Onward, nothing
from postroad.flow.heavy_work import HeavyWork
from postroad.flow.history import HistoryStage
from postroad.flow.interchange_book import InterchangeBook
from postroad.flow.keep import KeepStage
from postroad.flow.mediate import Handed, MediateStage
from postroad.flow.model_book import ModelBook
from postroad.flow.partners import PartnerStage
from postroad.flow.patience import Patience
from postroad.flow.posting import Answer, Answered, AnsweredAt, Posting
from postroad.flow.push_control import PushControl
from postroad.flow.release import ReleaseStage
from postroad.flow.trail import TrailStage
from postroad.ports import Clock, Desk, IndexReader, Journal, Randomness


class Network:
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
        standards: Catalogue = BUILT_IN,
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
        self.batches = BatchBook(desk, index, clock, indexed)
        self.ending = ending = EndStage(desk, journal, directory, clock, randomness, due, self.batches)
        desk.on_given_up(ending.give_up)
        cancelling = CancelStage(desk, index, clock, indexed, self.batches)
        self.tokens = tokens = Tokens(token_key)
        answers = AnswerStage(desk, journal, randomness, tokens, ending, cancelling, self.heavy)
        self.dead_letters = DeadLetterStage(desk, directory, clock, due)
        keeping = KeepStage(desk, index, clock, ending, due, self.batches)
        self.configuration.on_change(keeping.follow)
        self.expiry = ExpireStage(index, clock, ending, keeping, due, indexed, self.batches)
        self.releases = ReleaseStage(desk, index, clock, indexed)
        self.allowances = AllowStage(index, directory, clock, indexed, limits or OrganizationLimits())
        self._accept = AcceptStage(
            desk, journal, directory, clock, randomness, answers, self.allowances, due.note, self.heavy
        )
        self._deliver = DeliverStage(desk, directory, clock, answers, TrailStage(index, indexed), tokens, ending)
        self.mediation = MediateStage(desk, clock, tokens, ending)
        self._explain = ExplainStage(journal, index, directory, clock, indexed, tokens.veil, self.heavy_requests)
        self._answers = answers
        self._forward = ForwardStage(desk, directory, clock, randomness, due.note, self.heavy)
        self.partners = PartnerStage(desk, clock, InterchangeBook(index, indexed), answers, self._forward)
        self.exchanges = ExchangeBook(self.configuration)
        self.models = ModelBook(self.configuration)
        self.bindings = BindingBook(self.configuration)
        self.pushes = PushControl()
        self.clock_steps.add(due.look_again)
        self._history = HistoryStage(journal, index, directory, indexed, tokens.veil, self.heavy_requests)

    @property
    def directory(self) -> Directory:
        return self.configuration.directory()

    def submit(self, caller: Caller, posting: Posting, answered: Answered) -> None:
        """Post without waiting; ``answered`` is called once, with success only when the message is durable."""
        self._accept.post(caller, posting, answered)

    def submit_many(self, caller: Caller, postings: Sequence[Posting], answered: AnsweredAt) -> None:
        """Post many without waiting; each is answered once, by its place."""
        self._accept.post_many(caller, postings, answered)

    def refuse(
        self, caller: Caller | None, refusal: Refused, size: int, answered: Answered, posting: Posting | None = None
    ) -> None:
        """Record a post that could not be read, with what is known of it all the same, and answer it."""
        self._accept.refuse(caller, posting, refusal, answered, size)

    async def post(
        self, caller: Caller, message: Message, *, size: int = 0, form: str = "python", idempotency: str = ""
    ) -> PostResult:
        """Post and wait; raises Refused or Unavailable."""
        return await self.carry_out(caller, Posting(message, size, form, idempotency))

    async def carry_out(self, caller: Caller, posting: Posting) -> PostResult:
        """Submit and wait, likewise."""
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
        patience: Patience | None = None,
        up_to: int = EVERY_NUMBER,
        early: bool = True,
    ) -> list[Delivered]:
        """Hand out what waits, up to that number; ``early``: also what waits for its next push."""
        return await self._deliver.poll(caller, request, patience, up_to, early)

    async def poll_in_format(
        self, caller: Caller, request: PollRequest, patience: Patience | None = None
    ) -> list[Handed]:
        """Like ``poll``, each message in the caller's format; what it cannot have in that way has failed meanwhile."""
        began = self.clock.monotonic()
        while waiting := await self.poll(caller, request, patience):
            service = self.directory.services[waiting[0].recipient_gcid]
            if prepared := await self.mediation.prepared_for_poll(service, waiting):
                return prepared
            request = replace(request, wait_s=max(0.0, request.wait_s - (self.clock.monotonic() - began)))
        return []

    async def waiting(self, token: str, receiver: str) -> Delivered | None:
        """A delivery that was handed out to this receiver (GCID) and is not settled yet; None when it is."""
        return await self._deliver.waiting(token, receiver)

    async def settle(self, caller: Caller, settlement: Settlement, receipt: bytes | None = None) -> SettlementResult:
        """Take back what became of deliveries; ``receipt`` is what proves that the receiver has a single one."""
        result = await self._deliver.settle(caller, settlement, receipt)
        self.batches.settled(
            [number for token in settlement.tokens if (number := self.tokens.number(token)) is not None]
        )
        return result

    def handed_out(self, queued: Queued, body: bytes) -> Delivered:
        """A delivery as its receiver is given it, for those of the network's own that claim at the desk."""
        return self._deliver.delivered(queued, body)

    async def forward(
        self,
        caller: Caller,
        delivered: Delivered,
        forwards: Sequence[Forward],
        on_its_way: Callable[[], None] = nothing,
    ) -> Onward:
        """Let what was handed out to an exchange or a model go on to all it is for; its delivery stays to be settled.

        Raises Refused when the delivery has come to its end meanwhile.
        """
        found = await self._answers.delivery(delivered.token, delivered.recipient_gcid)
        if found.state is not State.QUEUED:
            raise Refused("delivery.over", "The delivery has come to its end before it was forwarded")
        return await self._forward.forward(caller, delivered, found.queued, forwards, on_its_way)

    async def fail(self, delivered: Delivered, reason: str) -> None:
        """Give up what was handed out to one of the network's own services: it becomes a dead letter."""
        number = self.tokens.number(delivered.token)
        if number is not None:
            await self.ending.fail(number, reason)

    async def explain(self, caller: Caller, message: Message) -> Explanation:
        """Which way a message would take and why; nothing is stored or sent."""
        return await self._explain.hypothetical(caller, message)

    async def explanation(self, session: str, organization: str | None) -> Explanation | None:
        """Why a posted message took its way, as far as the organization may read it; None: all of it, without values."""
        return await self._explain.stored(session, organization)

    async def trace(self, session: str, organization: str | None, service: str = "") -> History | None:
        return await self._history.trace(session, organization, service)
