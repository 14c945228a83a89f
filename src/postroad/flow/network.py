"""The network façade: builds the stages and is the single entry point for HTTP, CLI and tests.

    decode → admit → route → enqueue → poll → acknowledge
                               ↑             ↘ answer → go on to the next stop, or return to the requester
                               └───────────────────────┘
    at any stage a delivery may expire, be cancelled or fail

Front ends (HTTP, SOAP, command line, tests) use this object and nothing below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.identity.tokens import Tokens
from postroad.core.interchange.standard import BUILT_IN, StandardCatalogue
from postroad.core.metrics.registry import Metrics
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import OrganizationLimits
from postroad.core.model.history import History
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.core.model.reason import Reason
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.core.routing.forward import Forward
from postroad.errors import Refused
from postroad.flow.concurrency.clock_steps import ClockSteps
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing, WaitUntilIndexed
from postroad.flow.registries.batches import BatchStore
from postroad.flow.registries.bindings import BindingRegistry
from postroad.flow.registries.configuration import Configuration
from postroad.flow.registries.exchanges import ExchangeRegistry
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.flow.registries.models import ModelRegistry
from postroad.flow.registries.notification_control import NotificationControl
from postroad.flow.registries.outgoing_mail import OutgoingMail
from postroad.flow.registries.push_control import PushControl
from postroad.flow.registries.secret_vault import SecretVault
from postroad.flow.registries.token_keys import TokenKeyRing
from postroad.flow.stages.accept import AcceptStage
from postroad.flow.stages.cancel import CancelStage
from postroad.flow.stages.deliver import DeliverStage
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.expire import ExpireStage
from postroad.flow.stages.explain import ExplainStage
from postroad.flow.stages.forward import ForwardResult, ForwardStage, do_nothing
from postroad.flow.stages.full_recipients import DEFAULT_WAITING, FullRecipients
from postroad.flow.stages.history import HistoryStage
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.flow.stages.mailbox_time_limit import MailboxTimeLimit
from postroad.flow.stages.mediate import HandedDelivery, MediateStage
from postroad.flow.stages.partner_acknowledgments import PartnerAcknowledgments
from postroad.flow.stages.post_pace import PostPace
from postroad.flow.stages.posting import Answered, AnsweredAt, Posting
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
        wait_until_indexed: WaitUntilIndexed,
        limits: OrganizationLimits | None = None,
        waiting_most: int = DEFAULT_WAITING,
        standards: StandardCatalogue = BUILT_IN,
        metrics: Metrics | None = None,
    ) -> None:
        self.desk = desk
        self.journal = journal
        self.index = index
        self.clock = clock
        self.randomness = randomness
        self.wait_until_indexed = wait_until_indexed
        self.metrics = metrics or Metrics()
        self.standards = standards  # of interchanges, with those that plug-ins bring
        self.heavy = HeavyWork()  # of messages
        self.heavy_requests = HeavyWork()  # plans, exports, checks and trials: no message waits for them
        self.tokens = Tokens(token_key)
        self.configuration = Configuration(desk, index, clock)
        self.plumbing = Plumbing(
            desk=desk,
            journal=journal,
            index=index,
            clock=clock,
            randomness=randomness,
            directory=self.configuration.directory,
            wait_until_indexed=wait_until_indexed,
            metrics=self.metrics,
        )
        self.clock_steps = ClockSteps(clock)
        self.quota = Quota(self.plumbing, limits or OrganizationLimits())
        self.pace = PostPace(self.plumbing)
        self.full_recipients = FullRecipients(self.plumbing, waiting_most)
        self._open_registries()
        self._open_stages()

    def _open_registries(self) -> None:
        self.batches = BatchStore(self.plumbing)
        self.interchanges = InterchangeRegistry(self.plumbing)
        self.exchanges = ExchangeRegistry(self.configuration)
        self.models = ModelRegistry(self.configuration)
        self.bindings = BindingRegistry(self.configuration)
        self.pushes = PushControl()
        self.vault: SecretVault | None = None  # with a master key, from when it is opened
        self.token_keys: TokenKeyRing | None = None
        self.mail = OutgoingMail()
        self.notifications = NotificationControl()

    def _open_stages(self) -> None:
        """Connect the stages; each names the stages that it uses."""
        plumbing, pseudonyms, due = self.plumbing, self.tokens.pseudonyms, DueTimes()
        self.clock_steps.add(due.look_again)
        self.note_expiry = due.note  # called with the expiry of everything durable
        self.lookup = lookup = DeliveryLookup(self.desk, self.tokens)
        self.ending = ending = EndStage(plumbing, due, self.batches)
        self.desk.on_given_up(ending.give_up)
        self.dead_letters = DeadLetterStage(plumbing, due)
        time_limit = MailboxTimeLimit(plumbing, ending, due, self.batches)
        self.configuration.on_change(time_limit.follow)
        self.expiry = ExpireStage(plumbing, ending, time_limit, due, self.batches)
        self.releases = ReleaseStage(plumbing)
        cancelling = CancelStage(plumbing, self.batches)
        responses = RespondStage(plumbing, lookup, pseudonyms, ending, cancelling, self.heavy)
        self._accept = AcceptStage(
            plumbing,
            responses=responses,
            quota=self.quota,
            full=self.full_recipients,
            pace=self.pace,
            due=due,
            heavy=self.heavy,
        )
        self.mediation = MediateStage(plumbing, lookup, ending)
        self._deliver = DeliverStage(plumbing, self.tokens, lookup, ending, self.batches, self.mediation)
        self._forward = ForwardStage(plumbing, lookup, due, self.heavy)
        self.partners = PartnerAcknowledgments(plumbing, lookup, self.interchanges, self._forward)
        self._explain = ExplainStage(plumbing, pseudonyms, self.heavy_requests)
        self._history = HistoryStage(plumbing, pseudonyms, self.heavy_requests)

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
        return await self._accept.post_and_wait(caller, posting)

    async def poll(
        self,
        caller: Caller,
        request: PollRequest,
        wait: InterruptibleWait | None = None,
        up_to: int = EVERY_NUMBER,
        early: bool = True,
    ) -> list[Delivered]:
        """Hand out waiting deliveries up to that number; ``early`` includes those that wait for their next push."""
        return await self._deliver.poll(caller, request, wait, up_to, early)

    async def poll_in_format(
        self, caller: Caller, request: PollRequest, wait: InterruptibleWait | None = None
    ) -> list[HandedDelivery]:
        """Poll with each message in the caller's format; messages that cannot be encoded fail."""
        return await self._deliver.poll_in_format(caller, request, wait)

    async def find_waiting(self, token: str, receiver: str) -> Delivered | None:
        """Return a delivery that this receiver (GCID) has not settled yet; None if it has."""
        return await self._deliver.find_waiting(token, receiver)

    async def settle(self, caller: Caller, settlement: Settlement, receipt: bytes | None = None) -> SettlementResult:
        """Settle deliveries; ``receipt`` is the proof that the receiver has a single one."""
        return await self._deliver.settle(caller, settlement, receipt)

    def view_delivery(self, queued: Queued, body: bytes) -> Delivered:
        """Return a delivery as its receiver sees it, for built-in services that claim at the desk."""
        return self._deliver.view(queued, body)

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
        return await self._forward.forward(caller, delivered, forwards, on_its_way)

    async def fail(self, delivered: Delivered, reason: Reason) -> None:
        """Fail a delivery that its receiver has leased: it becomes a dead letter."""
        await self.ending.fail(self.lookup.number(delivered), reason)

    async def explain(self, caller: Caller, message: Message) -> RouteExplanation:
        """Explain how a message would be routed; nothing is stored or sent."""
        return await self._explain.explain_hypothetical(caller, message)

    async def explanation(self, session: str, organization: str | None) -> RouteExplanation | None:
        """Explain a posted message's route; with organization None in full, but without values."""
        return await self._explain.explain_stored(session, organization)

    async def trace(self, session: str, organization: str | None, service: str = "") -> History | None:
        """Return the history of a session's transaction."""
        return await self._history.trace(session, organization, service)
