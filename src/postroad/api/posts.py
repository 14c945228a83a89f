"""The message endpoints that post: one message, many in one call, and large ones, which other processes decode.

Rule: every post is answered once, in the sender's own format, also if it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from time import monotonic  # what ``FastReply.asked_at_s`` is read from, by the event loop
from typing import Any, Literal

from msgspec.structs import replace

from postroad.api.error_responses import answer_limited, answer_refused, answer_unavailable, rate_headers
from postroad.api.external_messages import check_addressed, wire_of
from postroad.api.http.error_log import log_error
from postroad.api.http.request import FastReply, FastRequest, Headers
from postroad.api.message_headers import check_encoding, read_message_headers
from postroad.api.response_form import choose_response_codec
from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.settings import Settings
from postroad.core.admission.rate_limit import UNLIMITED, RateLimiter, RateState
from postroad.core.codecs.bulk import bulk_answer_type, encode_bulk_answer
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.native_formats import NativeForm
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.metrics.instruments import Histogram
from postroad.core.model.caller import Caller
from postroad.core.model.message import PostResult
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.network import Network
from postroad.flow.stages.body_reader import LARGE_BYTES, BodyReader, LargeBody, ReadBody, read_bulk, read_post
from postroad.flow.stages.posting import (
    Answer,
    Posting,
    ReplayedResult,
    check_idempotency_key,
    compute_message_fingerprint,
)

AT_A_TIME = 500  # messages of a bulk that are posted at a time, in a few milliseconds
NO_SOAP = Refused("wire.unsupported", "Send SOAP 1.1 or 1.2 here, JSON to /v1/messages")

Served = Callable[[Caller, FastRequest, FastReply, Codec], None]


class PostEndpoints:
    def __init__(
        self,
        network: Network,
        authenticator: Authenticator,
        *,
        message_bytes: int,
        bulk_bytes: int,
        own_address: OwnAddress | None = None,
        posts_per_s: int = 0,
        reader: BodyReader | None = None,
    ) -> None:
        self._network = network
        self._authenticator = authenticator
        self._message_bytes = message_bytes
        self._bulk_bytes = bulk_bytes
        self._own_address = own_address or OwnAddress(Settings())
        self._limiter = RateLimiter(posts_per_s)
        self._limits = WireLimits(body_bytes=message_bytes)
        self._bulk_limits = WireLimits(body_bytes=bulk_bytes)
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: set[InterruptibleWait] = set()
        self._writing = HeavyWork()  # for poll responses, so that no poll waits for other work of its organization
        self._reader = reader  # for large bodies; None: all are decoded on the event loop
        self._ending = False
        seconds = network.metrics.histograms("post_seconds")
        self._post_seconds, self._bulk_seconds = seconds.of("no"), seconds.of("yes")
        self._rate_limited = network.metrics.counter("rate_limited_total", "post")

    def _operation(self, name: str) -> Served | None:
        """Return the handler of a SOAP operation other than a post."""
        raise NotImplementedError

    # --- posting -----------------------------------------------------------------------------------------------

    def _post(
        self, own: NativeForm | Refused | None, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec
    ) -> None:
        rate = self.rate(caller, 1)
        if not rate.allowed:
            answer_limited(reply, codec, rate)
            return

        answered = partial(self._answer_post, reply, codec, rate)
        posting = None
        try:
            check_encoding(request)
            if isinstance(own, Refused):
                raise own
            known = read_message_headers(request)
            wire = partial(wire_of, request)
            posting = read_post(
                own, request.body, wire, self._limits, known.content_type, known.idempotency, trace=request.trace
            )
            if not posting.message.to:
                check_addressed(posting)
        except Refused as refusal:
            self._network.refuse(caller, refusal, len(request.body), answered, posting)
        else:
            self._network.submit(caller, posting, answered)

    # --- large bodies: decoded in other processes, fairly between organizations ------------------------------

    def _is_large(self, request: FastRequest) -> bool:
        return len(request.body) > LARGE_BYTES and self._reader is not None

    def _post_large(self, soap: bool, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        rate = self.rate(caller, 1)
        if not rate.allowed:
            answer_limited(reply, codec, rate)
        else:
            work = self._post_read(soap, caller, request, reply, codec, rate)
            self._later(work, request, reply, codec)

    async def _post_read(
        self, soap: bool, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec, rate: RateState
    ) -> None:
        posting = None
        try:
            check_encoding(request)
            read = await self._read(caller, request, "post")
            own = read.own
            codec = choose_response_codec(request, own)
            if soap and codec not in (SOAP11, SOAP12):
                codec = SOAP11
                raise own if isinstance(own, Refused) else NO_SOAP
            if soap and (served := self._operation(read.operation)) is not None:
                served(caller, request, reply, codec)
                return
            if read.refusal is not None:
                raise read.refusal.build_refusal()
            posting = read.posting
            if posting is not None and request.trace:
                posting = replace(posting, trace=request.trace)
            if posting is not None and not posting.message.to:
                check_addressed(posting)
        except Refused as refusal:
            if refusal.code == "rate.exceeded":
                answer_refused(reply, codec, refusal, rate_headers(rate))
                return
            answered = partial(self._answer_post, reply, codec, rate)
            self._network.refuse(caller, refusal, len(request.body), answered, posting)
        except Unavailable as unavailable:
            answer_unavailable(reply, codec, unavailable)
        else:
            if posting is not None:
                self._network.submit(caller, posting, partial(self._answer_post, reply, codec, rate))

    async def _read(self, caller: Caller, request: FastRequest, kind: Literal["post", "bulk"]) -> ReadBody:
        if self._reader is None:
            raise RuntimeError("a consumer of large bodies is required")
        known = read_message_headers(request)
        large = LargeBody(
            kind=kind,
            body=request.body,
            content_type=known.content_type,
            headers=tuple(wire_of(request).headers),
            is_plain=known.is_plain,
            idempotency=known.idempotency,
            message_bytes=self._message_bytes,
            bulk_bytes=self._bulk_bytes,
        )
        async with self._network.heavy.slot(caller.organization or caller.name, len(request.body)):
            return await self._reader.read(large)

    # --- many in one call ------------------------------------------------------------------------------------------

    def _bulk(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        if self._is_large(request):
            self._later(self._bulk_large(caller, request, reply), request, reply, codec)
        else:
            self._bulk_read(caller, request, reply, self._decoded_bulk(request))

    async def _bulk_large(self, caller: Caller, request: FastRequest, reply: FastReply) -> None:
        try:
            check_encoding(request)
            if (key := read_message_headers(request).idempotency) is not None:
                check_idempotency_key(key)
            posts = (await self._read(caller, request, "bulk")).bulk
        except Refused as refusal:
            if refusal.code == "rate.exceeded":
                answer_refused(reply, JSON_FORM, refusal)
                return
            posts = refusal
        except Unavailable as unavailable:
            answer_unavailable(reply, JSON_FORM, unavailable)
            return
        self._bulk_read(caller, request, reply, posts)

    def _bulk_read(
        self, caller: Caller, request: FastRequest, reply: FastReply, posts: list[Posting | Refused] | Refused
    ) -> None:
        if request.trace and not isinstance(posts, Refused):
            posts = [post if isinstance(post, Refused) else replace(post, trace=request.trace) for post in posts]
        rate = self.rate(caller, 1 if isinstance(posts, Refused) else max(1, len(posts)))
        if not rate.allowed:
            answer_limited(reply, JSON_FORM, rate)
        elif isinstance(posts, Refused):
            self._network.refuse(caller, posts, len(request.body), partial(self._answer_post, reply, JSON_FORM, rate))
        else:
            answer = BulkAnswer(
                reply,
                read_message_headers(request).content_type,
                len(posts),
                rate_headers(rate),
                self._bulk_seconds,
            )
            self._post_many(caller, posts, read_message_headers(request).idempotency, answer)

    def _decoded_bulk(self, request: FastRequest) -> list[Posting | Refused] | Refused:
        content_type, key = read_message_headers(request).content_type, read_message_headers(request).idempotency
        try:
            check_encoding(request)
            if key is not None:
                check_idempotency_key(key)
            return read_bulk(content_type, request.body, self._bulk_limits, self._message_bytes)
        except Refused as refusal:
            return refusal

    def _post_many(self, caller: Caller, posts: list[Posting | Refused], key: str | None, answer: BulkAnswer) -> None:
        postings: list[Posting] = []
        places: list[int] = []
        for place, post in enumerate(posts):
            if isinstance(post, Refused):
                self._network.refuse(caller, post, 0, partial(answer.store_answer, place))
            else:
                postings.append(post if key is None else _with_key(post, key, place))
                places.append(place)
        if len(postings) <= AT_A_TIME:
            self._network.submit_many(caller, postings, lambda at, given: answer.store_answer(places[at], given))
        else:
            self._start(self._submit_slices(caller, postings, places, answer))

    async def _submit_slices(
        self, caller: Caller, postings: list[Posting], places: list[int], answer: BulkAnswer
    ) -> None:
        """Post many messages, a limited number at a time, so that other requests are processed in between."""
        for first in range(0, len(postings), AT_A_TIME):
            some = places[first : first + AT_A_TIME]

            def answered(at: int, given: Answer, some: list[int] = some) -> None:
                answer.store_answer(some[at], given)

            self._network.submit_many(caller, postings[first : first + AT_A_TIME], answered)
            await asyncio.sleep(0)

    def rate(self, caller: Caller, posts: int) -> RateState:
        """Count these posts and return the state of the organization's rate limit."""
        own = _agreed_rate(self._network.directory, caller.organization)
        if not own and not self._limiter.per_s:
            return UNLIMITED
        rate = self._limiter.take(caller.organization, self._network.clock.monotonic(), per_s=own, count=posts)
        if not rate.allowed:
            self._rate_limited.value += posts
        return rate

    def _answer_post(self, reply: FastReply, codec: Codec, rate: RateState, answer: Answer) -> None:
        if isinstance(answer, PostResult):
            headers = rate_headers(rate)
            if isinstance(answer, ReplayedResult):
                headers += ((b"idempotency-replayed", b"true"),)
            status = 200 if isinstance(codec, SoapCodec) else 202  # stock SOAP clients take a 202 for "no answer"
            reply(status, codec.encode_result(answer), codec.media_type.encode(), headers)
        elif isinstance(answer, Refused):
            answer_refused(reply, codec, answer, rate_headers(rate))
        else:
            answer_unavailable(reply, codec, answer)
        self._post_seconds.observe(monotonic() - reply.asked_at_s)

    def _later(
        self, work: Coroutine[Any, Any, None], request: FastRequest, reply: FastReply, codec: Codec
    ) -> asyncio.Task[None]:
        """Run work as a task; an internal error is answered too, so that the client does not wait indefinitely."""

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                log_error(request.method, request.path, error)
                if not reply.answered:
                    answer_refused(reply, codec, Refused("internal", "The server logged what went wrong; try again"))

        task = self._start(work)
        task.add_done_callback(ended)
        return task

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


def _with_key(posting: Posting, key: str, place: int) -> Posting:
    """Return the posting with a key of its own, made of the call's key and the message's index."""
    mark = compute_message_fingerprint(posting.message)
    return replace(posting, idempotency=f"{key}/{place}", fingerprint=mark, bulk=key)


def _agreed_rate(directory: Directory, organization: str) -> int:
    """Return the organization's own rate; 0 if it has the network's default."""
    known: int | None = directory.cache.get(("rate", organization))
    if known is None:
        found = directory.organization(organization)
        known = directory.cache["rate", organization] = found.posts_per_s if found is not None else 0
    return known


class BulkAnswer:
    """The response to a call with many posts: collects the answers, and sends them together in order."""

    def __init__(
        self,
        reply: FastReply,
        content_type: str,
        messages: int,
        headers: Headers = (),
        seconds: Histogram | None = None,  # of all calls
    ) -> None:
        self._reply = reply
        self._headers = headers
        self._seconds = seconds
        self._answer_type = bulk_answer_type(content_type)
        self._answers: list[PostResult | Refused | None] = [None] * messages
        self._missing = messages
        if not messages:
            self._send()

    def store_answer(self, place: int, answer: Answer) -> None:
        """Store the answer for the message with this index."""
        self._answers[place] = Refused(answer.code, answer.detail) if isinstance(answer, Unavailable) else answer
        self._missing -= 1
        if not self._missing:
            self._send()

    def _send(self) -> None:
        answers = [answer for answer in self._answers if answer is not None]
        self._reply(200, encode_bulk_answer(self._answer_type, answers), self._answer_type.encode(), self._headers)
        if self._seconds is not None:
            self._seconds.observe(monotonic() - self._reply.asked_at_s)
