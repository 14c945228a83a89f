"""Accept a post: admit it, route it, write it down, and only then say yes.

Kept rule: every post is answered exactly once, and success only after the entry that holds it is durable. Rejected posts are
entries too. Nothing here waits: the answer is given through a callback when the group commit is through, so thousands of
posts share one sync to disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial

from postroad.core.admission.admit import ADDRESSED, Admitted, admit, admit_next
from postroad.core.admission.allowance import UNLIMITED, Amount, Charge, check_size
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.message import PostResult
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import handle_key, idempotency_key, post_keys
from postroad.core.routing.business_keys import PostedSubject, business_keys
from postroad.core.routing.explanation import pack
from postroad.core.routing.itinerary import CallRoutes, Routed, itineraries
from postroad.errors import Refused, Unavailable
from postroad.flow.allow import AllowStage
from postroad.flow.answer import AnswerStage
from postroad.flow.commit import committed
from postroad.flow.posting import (
    Answered,
    AnsweredAt,
    Posting,
    Results,
    body_of,
    is_same_post,
    part_facts,
    posted_at,
    replayed,
    result_of,
)
from postroad.ports import Clock, Committed, Conflict, Desk, Journal, Outcome, Randomness, Step

log = logging.getLogger(__name__)

DETAIL_MOST = 500  # characters of a refusal's text that the journal keeps


class AcceptStage:
    def __init__(
        self,
        desk: Desk,
        journal: Journal,
        directory: Callable[[], Directory],
        clock: Clock,
        randomness: Randomness,
        answers: AnswerStage,
        allowances: AllowStage,
        expires: Callable[[int], None],
    ) -> None:
        self._desk = desk
        self._journal = journal
        self._directory = directory
        self._clock = clock
        self._randomness = randomness
        self._answers = answers
        self._allowances = allowances
        self._expires = expires  # told of every accepted message when it expires
        self._running: set[asyncio.Task[None]] = set()

    def post(self, caller: Caller, posting: Posting, answered: Answered) -> None:
        """Take one post; ``answered`` is called once, now or when its entry is durable."""
        try:
            directory = self._directory()
            admitted = admit(posting.message, caller, directory, self._clock.now_us())
            if posting.message.type in ADDRESSED:
                subject = PostedSubject(admitted, directory, posting.form)
                routed = itineraries(admitted, directory, posting.form, subject)
                step = self._step(admitted, posting, directory, routed, subject)
                self._accept_allowed(step, admitted, posting, answered)
            else:
                self._later(self._answer(admitted, posting, directory, answered), answered)
        except Refused as refusal:
            self.refuse(caller, posting, refusal, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    def post_many(self, caller: Caller, postings: Sequence[Posting], answered: AnsweredAt) -> None:
        """Take many posts at once; each is answered by its place, and most of them share one step to the desk."""
        directory = self._directory()
        now_us = self._clock.now_us()
        steps: list[Step] = []
        places: list[int] = []
        limited = caller.service is not None and self._allowances.allowance(caller.service) != UNLIMITED
        routes, admitted = CallRoutes(directory), None
        for place, posting in enumerate(postings):
            if not _is_plain(posting):
                self.post(caller, posting, partial(answered, place))
                continue
            try:
                if admitted is None or posting.message.sender:
                    admitted = admit(posting.message, caller, directory, now_us)
                else:
                    admitted = admit_next(posting.message, admitted)
                subject = PostedSubject(admitted, directory, posting.form)
                routed = routes.itineraries(admitted, posting.form, subject)
                step = self._step(admitted, posting, directory, routed, subject)
                if limited:
                    self._accept_allowed(step, admitted, posting, partial(answered, place))
                    continue
                steps.append(step)
                places.append(place)
            except Refused as refusal:
                self.refuse(caller, posting, refusal, partial(answered, place))
        if steps:
            self._submit_many(steps, places, answered)

    def _submit_many(self, steps: list[Step], places: list[int], answered: AnsweredAt) -> None:
        def done(outcomes: list[Outcome]) -> None:
            results, noted_us = Results(), 0
            for place, step, outcome in zip(places, steps, outcomes, strict=True):
                if type(outcome) is not Committed:
                    answered(place, _failed(outcome))
                    continue
                entry: MessagePosted = step.entry  # type: ignore[assignment]
                if entry.expires_at_us != noted_us:  # those of one call mostly expire together
                    noted_us = entry.expires_at_us
                    self._expires(noted_us)
                answered(place, results.of(entry))

        try:
            self._desk.submit_many(steps, done)
        except Unavailable as unavailable:
            for place in places:
                answered(place, unavailable)

    def refuse(
        self, caller: Caller | None, posting: Posting | None, refusal: Refused, answered: Answered, size: int = 0
    ) -> None:
        """Write down that a post was rejected, then say so; also for posts that could not even be read."""
        message = posting.message if posting else None
        now_us = self._clock.now_us()
        entry = MessageRefused(
            now_us,
            ids.session(now_us, self._randomness.bytes(10)),
            caller.name if caller else "",
            refusal.code,
            refusal.detail[:DETAIL_MOST],
            posting.size if posting else size,
            posting.form if posting else "",
            message.handle if message else "",
            tuple(recipient.service[:200] for recipient in message.to[:10]) if message else (),
        )
        refusal = Refused(
            refusal.code, refusal.detail, pointer=refusal.pointer, session=refusal.session or entry.session
        )
        try:
            self._desk.submit(Step(entry), lambda outcome: answered(refusal))
        except Unavailable:
            answered(refusal)

    def _step(
        self, admitted: Admitted, posting: Posting, directory: Directory, routed: Routed, subject: PostedSubject
    ) -> Step:
        message = admitted.message
        session = ids.session(admitted.at_us, self._randomness.bytes(10))
        copies, tried = routed
        explanation = pack(tried) if tried else b""
        entry = MessagePosted(
            admitted.at_us,
            session,
            session,
            admitted.sender.gcid,
            message.type,
            message.topic,
            posting.size,
            posting.form,
            admitted.expires_at_us,
            directory.version,
            part_facts(message.parts),
            copies,
            message.handle,
            message.possible_duplicate,
            message.properties,
            message.status,
            None,
            posting.idempotency,
            posting.fingerprint,
            _keys(admitted.sender.gcid, message.handle, posting.idempotency),
            len(explanation),
            None,
            "",
            message.routing,
            posting.came,
            None,
            None,
            business_keys(admitted.sender, copies, directory, subject),
        )
        body = body_of(message.parts, explanation, posting.setting)
        return Step(entry, body, _must_be_new(entry) if message.possible_duplicate or posting.idempotency else ())

    def _accept_allowed(self, step: Step, admitted: Admitted, posting: Posting, answered: Answered) -> None:
        """Accept it if its organization may take that up; where that is not certain, find out first."""
        allowance = self._allowances.allowance(admitted.sender)
        if allowance == UNLIMITED:
            self._accept(step, posting, answered)
            return
        check_size(posting.size, allowance)
        charge = _charge(step, admitted.sender)
        if self._allowances.take(charge, allowance):
            self._accept_charged(step, posting, self._allowances.settling(charge, answered))
        else:
            self._later(self._accept_after_looking(step, admitted, posting, charge, answered), answered)

    async def _accept_after_looking(
        self, step: Step, admitted: Admitted, posting: Posting, charge: Charge, answered: Answered
    ) -> None:
        try:
            await self._allowances.take_after_looking(charge, self._allowances.allowance(admitted.sender))
        except Refused as refusal:
            self.refuse(admitted.caller, posting, refusal, answered)
        else:
            self._accept_charged(step, posting, self._allowances.settling(charge, answered))

    def _accept_charged(self, step: Step, posting: Posting, answered: Answered) -> None:
        """Accept it; whatever becomes of it is told, so that the charge is settled."""
        try:
            self._accept(step, posting, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    def _accept(self, step: Step, posting: Posting, answered: Answered) -> None:
        entry: MessagePosted = step.entry  # type: ignore[assignment]
        if step.keys:
            self._later(self._accept_if_new(step, entry, posting, answered), answered)
        else:
            self._desk.submit(step, lambda outcome: answered(self._outcome(entry, outcome)))

    def _outcome(self, entry: MessagePosted, outcome: Outcome) -> PostResult | Unavailable:
        """What the poster is told once the outcome is known."""
        if isinstance(outcome, Committed):
            self._expires(entry.expires_at_us)
            return result_of(entry)
        return _failed(outcome)

    async def _accept_if_new(self, step: Step, entry: MessagePosted, posting: Posting, answered: Answered) -> None:
        """The keys of long ago are in the index; those of a moment ago are checked by the desk when it commits."""
        try:
            for key in step.keys:
                if (first := await self._desk.seen(key)) is not None:
                    await self._again(Conflict(key, *first), entry, posting, answered)
                    return
            outcome = await committed(self._desk, step)
            if isinstance(outcome, Conflict):
                await self._again(outcome, entry, posting, answered)
            else:
                answered(self._outcome(entry, outcome))
        except Unavailable as unavailable:
            answered(unavailable)

    async def _again(self, conflict: Conflict, entry: MessagePosted, posting: Posting, answered: Answered) -> None:
        """This has been posted before: give the first answer again, or refuse it as a duplicate."""
        first = await posted_at(self._journal, conflict.seq)
        if entry.idempotency and conflict.key == idempotency_key(entry.sender, entry.idempotency):
            if first is not None and is_same_post(first, entry):
                answered(replayed(first))
                return
            refusal = _reused(posting, conflict.session)
        else:
            refusal = Refused(
                "message.duplicate",
                f"Handle {entry.handle!r} was posted before and accepted as session {conflict.session}; nothing more to do",
                session=conflict.session,
            )
        self.refuse(Caller(service=self._directory().services.get(entry.sender)), posting, refusal, answered)

    async def _answer(self, admitted: Admitted, posting: Posting, directory: Directory, answered: Answered) -> None:
        try:
            answered(await self._answers.answer(admitted, posting, directory))
        except Refused as refusal:
            self.refuse(admitted.caller, posting, refusal, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    def _later(self, work: Coroutine[None, None, None], answered: Answered) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(partial(self._finished, answered))

    def _finished(self, answered: Answered, task: asyncio.Task[None]) -> None:
        """A mistake of ours is seen in the log, and the poster does not wait for ever."""
        self._running.discard(task)
        if not task.cancelled() and (mistake := task.exception()) is not None:
            log.error("a post could not be carried out", exc_info=mistake)
            answered(Refused("internal", "The post was not carried out; try again"))


def _charge(step: Step, sender: Service) -> Charge:
    """What the post would take up: its body once, and a delivery for each copy."""
    entry: MessagePosted = step.entry  # type: ignore[assignment]
    deliveries = sum([not copy.code for copy in entry.copies])
    return Charge(sender.organization.casefold(), sender.gcid, Amount(deliveries, len(step.body or b"")))


def _is_plain(posting: Posting) -> bool:
    """Whether the post goes to recipients and nothing needs to be looked up for it first."""
    message = posting.message
    flagged = message.possible_duplicate and message.handle
    return message.type in ADDRESSED and not posting.idempotency and not flagged


def _reused(posting: Posting, session: str) -> Refused:
    """What is said of a name that came with another message before."""
    if posting.came is not None and posting.came.message_id:
        detail = "Another message came under this Message-ID before; send each message under an id of its own"
        return Refused("as2.message-id-reused", detail, session=session)
    detail = "This Idempotency-Key came with another message before; use a new key for a new message"
    return Refused("idempotency.mismatch", detail, session=session)


def _keys(sender: str, handle: str, idempotency: str) -> tuple[int, ...]:
    """Most posts have a handle and nothing else that could come twice."""
    return (handle_key(sender, handle),) if handle and not idempotency else post_keys(sender, handle, idempotency)


def _must_be_new(entry: MessagePosted) -> tuple[int, ...]:
    keys: tuple[int, ...] = ()
    if entry.handle and entry.possible_duplicate:
        keys += (handle_key(entry.sender, entry.handle),)
    if entry.idempotency:
        keys += (idempotency_key(entry.sender, entry.idempotency),)
    return keys


def _failed(outcome: Outcome) -> Unavailable:
    if isinstance(outcome, Unavailable):
        return outcome
    raise TypeError(f"a post without keys cannot end in {outcome!r}")
