"""Accept posts: check permissions, route the message and store it as one journal entry, then confirm it.

Rule: every post is answered exactly once, and success only after its entry is durable. Rejected posts are
entries too. Nothing here waits: a callback receives the answer after the group commit, so thousands of
posts share one sync to disk. A message with expensive rules is first routed in a thread (``heavy_work``). The chain
of callbacks from a post to its fsync is drawn in ``flow/__init__.py``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from functools import partial

from postroad.core.admission.admit import ADDRESSED, Admitted, admit, admit_next
from postroad.core.admission.quota import UNLIMITED, QuotaAmount, QuotaCharge, check_size
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import PostResult
from postroad.core.model.snapshot import Directory
from postroad.core.projection.unique_keys import idempotency_key
from postroad.core.routing.budget import AT_ONCE, TooMuchAtOnce
from postroad.core.routing.itinerary import CallRoutes
from postroad.core.routing.search_keys import PostedSubject
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.commit import commit_step, future_of
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages import entries
from postroad.flow.stages.full_recipients import FullRecipients
from postroad.flow.stages.idempotency import (
    IndexedPost,
    PostStep,
    answer_all,
    build_unique_step,
    duplicate_error,
    reused_key_error,
)
from postroad.flow.stages.post_pace import PostPace
from postroad.flow.stages.posting import (
    Answer,
    Answered,
    AnsweredAt,
    Posting,
    ResultBuilder,
    build_result,
    encode_body,
    is_same_post,
    load_post,
    replay_result,
)
from postroad.flow.stages.quota import Quota
from postroad.flow.stages.respond import RespondStage
from postroad.flow.stages.routed_post import (
    RECIPIENT_STEPS,
    RoutedPost,
    RoutingMetrics,
    add_search_keys,
    check_recipients,
    route_post,
    try_route_post,
)
from postroad.ports import Committed, Conflict, JournalStep, StepOutcome

log = logging.getLogger(__name__)

MANY_AT_ONCE = 5 * AT_ONCE  # steps on the event loop for all posts of one call: about 20 ms


class AcceptStage:
    def __init__(
        self,
        plumbing: Plumbing,
        responses: RespondStage,
        quota: Quota,
        full: FullRecipients,
        pace: PostPace,
        due: DueTimes,
        heavy: HeavyWork,
    ) -> None:
        self._desk, self._journal, self._clock = plumbing.desk, plumbing.journal, plumbing.clock
        self._directory, self._randomness = plumbing.directory, plumbing.randomness
        self._responses = responses
        self._quota = quota
        self._full = full
        self._pace = pace
        self._note_expiry = due.note
        self._heavy = heavy
        self._running: set[asyncio.Task[None]] = set()
        self._posts = plumbing.metrics.counters("posts_total")
        self._routing = RoutingMetrics(plumbing.metrics)

    def post(self, caller: Caller, posting: Posting, answered: Answered) -> None:
        """Accept one post; ``answered`` is called once, immediately or when its entry is durable."""
        if delay_s := self._pace.delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._post, caller, posting, answered)
        else:
            self._post(caller, posting, answered)

    def _post(self, caller: Caller, posting: Posting, answered: Answered) -> None:
        try:
            directory = self._directory()
            admitted = admit(posting.message, caller, directory, self._clock.now_us())
            if posting.message.type in ADDRESSED:
                at_once = self._heavy.at_once(admitted.sender.organization)
                step = self._step(admitted, posting, directory, route_post(admitted, posting, directory, at_once))
                self._accept_allowed(step, admitted, posting, answered)
            else:
                self._later(self._answer(admitted, posting, directory, answered), answered)
        except TooMuchAtOnce:
            self._later(self._post_heavy([admitted], [posting], directory, lambda _, given: answered(given)), answered)
        except Refused as refusal:
            self.refuse(caller, posting, refusal, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    async def post_and_wait(self, caller: Caller, posting: Posting) -> PostResult:
        """Accept one post and wait for its answer; raises Refused or Unavailable."""
        answer: Answer = await future_of(partial(self.post, caller, posting))
        if isinstance(answer, Refused | Unavailable):
            raise answer
        return answer

    async def _post_heavy(
        self, admitted: Sequence[Admitted], postings: Sequence[Posting], directory: Directory, answered: AnsweredAt
    ) -> None:
        """Route posts of one sender in a thread, then accept them here."""

        def route() -> list[RoutedPost | Refused]:
            pairs = zip(admitted, postings, strict=True)
            return [try_route_post(one, posting, directory) for one, posting in pairs]

        sender, size = admitted[0].sender, sum([posting.size for posting in postings])
        began = self._clock.monotonic()
        try:
            found: Sequence[RoutedPost | Refused] = await self._heavy.run(sender.organization, route, size)
            self._routing.seconds.observe(self._clock.monotonic() - began)
        except Refused as refusal:
            found = [refusal] * len(postings)
        for place, (one, posting, routed) in enumerate(zip(admitted, postings, found, strict=True)):
            tell = partial(answered, place)
            try:
                if isinstance(routed, Refused):
                    raise routed
                self._accept_allowed(self._step(one, posting, directory, routed), one, posting, tell)
            except Refused as refusal:
                self.refuse(one.caller, posting, refusal, tell)
            except Unavailable as unavailable:
                tell(unavailable)

    def post_many(self, caller: Caller, postings: Sequence[Posting], answered: AnsweredAt) -> None:
        """Accept many posts; each is answered by its index, and most of them share one step to the desk."""
        if self._pace.delay_s:
            delay_s = self._pace.delay_of(len(postings))
            asyncio.get_running_loop().call_later(delay_s, self._post_many, caller, postings, answered)
        else:
            self._post_many(caller, postings, answered)

    def _post_many(self, caller: Caller, postings: Sequence[Posting], answered: AnsweredAt) -> None:
        directory = self._directory()
        now_us = self._clock.now_us()
        together: list[IndexedPost] = []
        heavy: list[tuple[int, Admitted, Posting]] = []
        limited = caller.service is not None and self._quota.allowance(caller.service) != UNLIMITED
        routes, admitted, left = CallRoutes(directory), None, MANY_AT_ONCE
        for place, posting in enumerate(postings):
            if posting.message.type not in ADDRESSED:
                self.post(caller, posting, partial(answered, place))
                continue
            try:
                if admitted is None or posting.message.sender:
                    admitted = admit(posting.message, caller, directory, now_us)
                else:
                    admitted = admit_next(posting.message, admitted)
                # Once a post needs a thread, the budget of the call on the event loop is used up.
                at_once = 0 if heavy else max(0, min(left, AT_ONCE // 10))
                subject = PostedSubject(admitted, directory, posting.form, at_once)
                check_recipients(posting.message, at_once)
                left -= RECIPIENT_STEPS * (len(posting.message.to) - 1)
                try:
                    found = routes.itineraries(admitted, posting.form, subject)
                    routed = add_search_keys(admitted, directory, found, subject)
                finally:  # refused posts cost as much
                    left -= at_once - subject.left_at_once
                step = self._step(admitted, posting, directory, routed)
                if limited:
                    self._accept_allowed(step, admitted, posting, partial(answered, place))
                else:
                    together.append(IndexedPost(place, posting, step))
            except TooMuchAtOnce:
                if admitted is not None:
                    heavy.append((place, admitted, posting))
            except Refused as refusal:
                self.refuse(caller, posting, refusal, partial(answered, place))
        if together:
            self._accept_together(together, answered)
        if heavy:
            self._route_many(heavy, directory, answered)

    def _route_many(
        self, heavy: list[tuple[int, Admitted, Posting]], directory: Directory, answered: AnsweredAt
    ) -> None:
        at, admitted, postings = zip(*heavy, strict=True)

        def failed(answer: Answer) -> None:
            for place in at:
                answered(place, answer)

        self._later(self._post_heavy(admitted, postings, directory, lambda n, given: answered(at[n], given)), failed)

    def _accept_together(self, posts: list[IndexedPost], answered: AnsweredAt) -> None:
        """Accept posts with one step to the desk; look up first those whose keys the desk cannot check."""
        left: list[IndexedPost] = []
        for one in posts:
            if all(map(self._desk.checks, one.looked_up)):
                left.append(one)
            else:
                self._accept(one.step, one.posting, partial(answered, one.place))
        bulks = {one.bulk for one in left} - {0} if left and left[0].posting.bulk else set()
        if not left:
            return
        if all(map(self._desk.checks, bulks)):
            self._submit_many(left, answered)
        else:
            self._later(self._submit_if_new(left, bulks, answered), partial(answer_all, left, answered))

    async def _submit_if_new(self, posts: list[IndexedPost], bulks: set[int], answered: AnsweredAt) -> None:
        """Accept posts with one step if the key of their bulk is new; otherwise look each one up."""
        try:
            came_before = [bulk for bulk in bulks if await self._desk.find_first_use(bulk) is not None]
        except Unavailable as unavailable:
            answer_all(posts, answered, unavailable)
            return
        if not came_before:
            self._submit_many(posts, answered)
            return
        for one in posts:
            self._accept(one.step, one.posting, partial(answered, one.place))

    def _submit_many(self, posts: list[IndexedPost], answered: AnsweredAt) -> None:
        def done(outcomes: list[StepOutcome]) -> None:
            results, noted_us = ResultBuilder(), 0
            for (place, posting, step), outcome in zip(posts, outcomes, strict=True):
                entry = step.entry
                if type(outcome) is not Committed:
                    self._done(entry, posting, partial(answered, place), outcome)
                    continue
                if entry.expires_at_us != noted_us:  # posts of one call mostly expire together
                    noted_us = entry.expires_at_us
                    self._note_expiry(noted_us)
                answered(place, results.of(entry))

        try:
            self._desk.submit_many([one.step for one in posts], done)
        except Unavailable as unavailable:
            answer_all(posts, answered, unavailable)

    def refuse(
        self, caller: Caller | None, posting: Posting | None, refusal: Refused, answered: Answered, size: int = 0
    ) -> None:
        """Record a rejected post and then answer it; also for posts that could not be decoded."""
        now_us = self._clock.now_us()
        session = ids.session(now_us, self._randomness.bytes(10))
        wire_size = posting.size if posting else size
        version = self._directory().version
        self._routing.count_refusal(refusal)
        entry, body = entries.build_refused_entry(
            caller, posting, refusal, now_us, session, wire_size=wire_size, directory=version
        )
        session = refusal.session or entry.session
        refusal = Refused(
            refusal.code, refusal.detail, pointer=refusal.pointer, session=session, retry_after_s=refusal.retry_after_s
        )
        try:
            step = JournalStep(entry, body, organization=caller.organization if caller else "")
            self._desk.submit(step, lambda outcome: answered(refusal))
        except Unavailable:
            answered(refusal)

    def _step(self, admitted: Admitted, posting: Posting, directory: Directory, routed: RoutedPost) -> PostStep:
        copies, explanation, search_keys, _ = self._full.refuse(self._routing.count(routed), directory)
        entry = entries.build_post(
            admitted,
            posting,
            session=ids.session(admitted.at_us, self._randomness.bytes(10)),
            directory_version=directory.version,
            copies=copies,
            explained=len(explanation),
            search_keys=search_keys,
        )
        body = encode_body(admitted.message.parts, explanation, posting.wrapper)
        return build_unique_step(entry, body, admitted.sender.organization)

    def _accept_allowed(self, step: PostStep, admitted: Admitted, posting: Posting, answered: Answered) -> None:
        """Accept a post if it fits the organization's quota; refresh the totals first if that is uncertain."""
        allowance = self._quota.allowance(admitted.sender)
        if allowance == UNLIMITED:
            self._accept(step, posting, answered)
            return
        check_size(posting.size, allowance)
        charge = _charge(step, admitted.sender)
        if self._quota.reserve(charge, allowance):
            self._accept_charged(step, posting, self._quota.settle_after(charge, answered))
        else:
            self._later(self._accept_after_refresh(step, admitted, posting, charge, answered), answered)

    async def _accept_after_refresh(
        self, step: PostStep, admitted: Admitted, posting: Posting, charge: QuotaCharge, answered: Answered
    ) -> None:
        try:
            await self._quota.reserve_after_refresh(charge, self._quota.allowance(admitted.sender))
        except Refused as refusal:
            self.refuse(admitted.caller, posting, refusal, answered)
        else:
            self._accept_charged(step, posting, self._quota.settle_after(charge, answered))

    def _accept_charged(self, step: PostStep, posting: Posting, answered: Answered) -> None:
        """Accept a post; the charge is settled whatever the outcome."""
        try:
            self._accept(step, posting, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    def _accept(self, step: PostStep, posting: Posting, answered: Answered) -> None:
        entry = step.entry
        if step.keys or (step.absent and not self._desk.checks(step.absent[0])):
            self._later(self._accept_if_new(step, entry, posting, answered), answered)
        else:
            self._desk.submit(step, partial(self._done, entry, posting, answered))

    def _done(self, entry: MessagePosted, posting: Posting, answered: Answered, outcome: StepOutcome) -> None:
        """Answer the sender with the outcome of the step."""
        if isinstance(outcome, Committed):
            self._note_expiry(entry.expires_at_us)
            answered(build_result(entry))
        elif isinstance(outcome, Conflict):
            self._later(self._again(outcome, entry, posting, answered), answered)
        else:
            answered(outcome)

    async def _accept_if_new(self, step: PostStep, entry: MessagePosted, posting: Posting, answered: Answered) -> None:
        """Accept a post after looking up its keys in the index; the desk checks recent keys when it commits."""
        try:
            for key in (*step.keys, *step.absent):
                if not self._desk.checks(key) and (first := await self._desk.find_first_use(key)) is not None:
                    await self._again(Conflict(key, *first), entry, posting, answered)
                    return
            self._done(entry, posting, answered, await commit_step(self._desk, step))
        except Unavailable as unavailable:
            answered(unavailable)

    async def _again(self, conflict: Conflict, entry: MessagePosted, posting: Posting, answered: Answered) -> None:
        """Handle a repeated post: return the first answer again, or refuse it as a duplicate."""
        first = await load_post(self._journal, conflict.seq)
        if entry.idempotency and conflict.key == idempotency_key(entry.sender, entry.idempotency):
            if first is not None and is_same_post(first, entry):
                self._posts.of("duplicate", posting.form).value += 1
                answered(replay_result(first))
                return
            refusal = reused_key_error(posting, conflict.session)
        else:
            refusal = duplicate_error(entry, conflict.session)
        self.refuse(Caller(service=self._directory().services.get(entry.sender)), posting, refusal, answered)

    async def _answer(self, admitted: Admitted, posting: Posting, directory: Directory, answered: Answered) -> None:
        try:
            answered(await self._responses.respond(admitted, posting, directory))
        except Refused as refusal:
            self.refuse(admitted.caller, posting, refusal, answered)
        except Unavailable as unavailable:
            answered(unavailable)

    def _later(self, work: Coroutine[None, None, None], answered: Answered) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(partial(self._finished, answered))

    def _finished(self, answered: Answered, task: asyncio.Task[None]) -> None:
        """Answer the post if its task failed: server errors are logged; after Unavailable the client may retry."""
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, Unavailable):
            answered(error)
        else:
            log.error("post.failed: a post could not be carried out", exc_info=error)
            answered(Refused("internal", "The post failed; try again"))


def _charge(step: PostStep, sender: Service) -> QuotaCharge:
    """Return what the post adds to the quota: its body once, and one delivery per copy."""
    entry = step.entry
    deliveries = sum([not copy.code for copy in entry.copies])
    return QuotaCharge(sender.organization.casefold(), sender.gcid, QuotaAmount(deliveries, len(step.body or b"")))
