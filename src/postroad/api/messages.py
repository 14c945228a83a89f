"""The message endpoints: post, post many, poll, take the next, acknowledge, and the one SOAP address for all of them.

They run on the HTTP front's fast routes: plain functions on the event loop that may answer later. Kept rules: the answer
comes in the caller's own wire form, refusals included; a post is answered when its entry is durable; a long poll ends when its
client leaves, and what was handed to nobody goes back at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from postroad.api.answers import answer_limited, answer_refused, answer_unavailable, rate_headers
from postroad.api.asked import asked, check_encoding
from postroad.api.bulk import BulkAnswer, read_bulk
from postroad.api.error_page import serve_error_page
from postroad.api.forms import form_in, spoken
from postroad.api.http.mistakes import log_mistake
from postroad.api.http.request import FastHandler, FastRoute, FastRoutes, Reply, Request
from postroad.api.plain_messages import (
    answer_messages,
    answer_next,
    answer_polled,
    check_addressed,
    next_request,
    wants_plain,
    wire_of,
)
from postroad.core.admission.rate import UNLIMITED, RateLimiter, RateState
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import FORMS, Own, answer_codec, codec_for, form_of, message_in, operation_in
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.schema import MESSAGES_XSD, wsdl
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.model.caller import Caller
from postroad.core.model.journal import Came
from postroad.core.model.message import Delivered, PostResult
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.authenticate import Authenticator, Proof
from postroad.flow.mediate import Handed, posting_of
from postroad.flow.network import Network
from postroad.flow.patience import Patience
from postroad.flow.posting import Answer, Posting, Replayed, check_idempotency_key, fingerprint

REQUEST_BYTES = 1 << 20  # of polls and settlements

Served = Callable[[Caller, Request, Reply, Codec], None]
Find = Callable[[Request], tuple[Codec, Served]]


class HandingOut(NamedTuple):
    """How messages are handed out: what is asked for, whether in the caller's plain format, and how they are answered."""

    asks: Callable[[], PollRequest]
    plain: bool
    answer: Callable[[Reply, list[Handed], Codec], None]


class MessageEndpoints:
    def __init__(
        self,
        network: Network,
        authenticator: Authenticator,
        *,
        message_bytes: int,
        bulk_bytes: int,
        public_url: str = "",
        posts_per_s: int = 0,
    ) -> None:
        self._network = network
        self._authenticator = authenticator
        self._message_bytes = message_bytes
        self._bulk_bytes = bulk_bytes
        self._public_url = public_url
        self._limiter = RateLimiter(posts_per_s)
        self._limits = WireLimits(body_bytes=message_bytes)
        self._bulk_limits = WireLimits(body_bytes=bulk_bytes)
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: set[Patience] = set()
        self._ending = False

    def routes(self) -> FastRoutes:
        return {
            (b"POST", b"/v1/messages"): FastRoute(self._serving(self._find_post), self._message_bytes),
            (b"GET", b"/v1/messages/next"): FastRoute(self._authenticated(self._next), 0),
            (b"POST", b"/v1/messages/bulk"): FastRoute(self._authenticated(self._bulk), self._bulk_bytes),
            (b"POST", b"/v1/poll"): FastRoute(self._serving(_in_own_form(self._poll)), REQUEST_BYTES),
            (b"POST", b"/v1/ack"): FastRoute(self._serving(_in_own_form(self._settle)), REQUEST_BYTES),
            (b"POST", b"/soap"): FastRoute(self._serving(self._find_operation, SOAP11), self._message_bytes),
            (b"GET", b"/soap"): FastRoute(self._wsdl, 0),
            (b"GET", b"/soap/messages.xsd"): FastRoute(_xsd, 0),
            (b"GET", b"/docs/errors"): FastRoute(serve_error_page, 0),
        }

    def end_waiting(self) -> None:
        """The server is about to stop: answer polls with what there is, so that nobody holds it up by waiting."""
        self._ending = True
        for patience in tuple(self._waiting):
            patience.end()

    # --- who is asking, and in which form ----------------------------------------------------------------------

    def _serving(self, find: Find, usual: Codec = JSON_FORM) -> FastHandler:
        """Find out in which form to answer first, so that even a missing password is answered in it."""

        def handler(request: Request, reply: Reply) -> None:
            codec = usual
            try:
                codec, served = find(request)
                self._as_caller(request, reply, codec, served)
            except Refused as refusal:
                answer_refused(reply, codec, refusal)
            except Exception as error:
                log_mistake(request.method, request.path, error)
                if not reply.answered:
                    answer_refused(reply, codec, Refused("internal", "The request was not carried out; try again"))

        return handler

    def _find_post(self, request: Request) -> tuple[Codec, Served]:
        """A post in any form or format; why it is in none is told to whom we know, and kept."""
        own = form_in(request)
        return spoken(request, own), partial(self._post, own)

    def _find_operation(self, request: Request) -> tuple[Codec, Served]:
        """At the one SOAP address the element in the Body says what is wanted; an envelope of others is a post."""
        own = form_in(request)
        codec = spoken(request, own)
        if codec not in (SOAP11, SOAP12):
            no_soap = Refused("wire.unsupported", "Send SOAP 1.1 or 1.2 here, JSON to /v1/messages")
            return SOAP11, partial(self._post, own if isinstance(own, Refused) else no_soap)
        post = partial(self._post, own)
        return codec, {"Poll": self._poll, "Acknowledge": self._settle}.get(operation_in(request.body), post)

    def _authenticated(self, served: Served) -> FastHandler:
        return lambda request, reply: self._as_caller(request, reply, JSON_FORM, served)

    def _as_caller(self, request: Request, reply: Reply, codec: Codec, served: Served) -> None:
        proof = asked(request).proof
        caller = self._authenticator.remembered(proof, request.peer)
        if caller is not None:
            served(caller, request, reply, codec)
        else:
            self._later(self._authenticate(proof, request, reply, codec, served), request, reply, codec)

    async def _authenticate(self, proof: Proof, request: Request, reply: Reply, codec: Codec, served: Served) -> None:
        try:
            caller = await self._authenticator.authenticate(proof, request.peer)
            served(caller, request, reply, codec)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)

    # --- posting -----------------------------------------------------------------------------------------------

    def _post(self, own: Own | Refused | None, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        rate = self.rate(caller, 1)
        if not rate.allowed:
            answer_limited(reply, codec, rate)
            return

        def answered(answer: Answer) -> None:
            _answer_post(reply, codec, answer, rate)

        posting = None
        try:
            posting = self._decoded(own, request)
            if not posting.message.to:
                check_addressed(posting)
        except Refused as refusal:
            self._network.refuse(caller, refusal, len(request.body), answered, posting)
        else:
            self._network.submit(caller, posting, answered)

    def _decoded(self, own: Own | Refused | None, request: Request) -> Posting:
        body, key = request.body, asked(request).idempotency
        check_encoding(request)
        if isinstance(own, Refused):
            raise own
        message = message_in(own, body, self._limits, asked(request).content_type)
        if key is not None:
            check_idempotency_key(key)
        if own is None or message is None:
            return posting_of(wire_of(request), self._limits, key or "")
        came = Came(notes=(own.note,)) if own.note else None
        mark = fingerprint(body) if key else ""
        return Posting(message, len(body), form_of(own.codec), key or "", mark, came)

    def _bulk(self, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        posts = self._decoded_bulk(request)
        rate = self.rate(caller, 1 if isinstance(posts, Refused) else max(1, len(posts)))
        if not rate.allowed:
            answer_limited(reply, JSON_FORM, rate)
        elif isinstance(posts, Refused):
            self._network.refuse(
                caller, posts, len(request.body), lambda answer: _answer_post(reply, JSON_FORM, answer, rate)
            )
        else:
            answer = BulkAnswer(reply, asked(request).content_type, len(posts), rate_headers(rate))
            self._post_many(caller, posts, asked(request).idempotency, answer)

    def _decoded_bulk(self, request: Request) -> list[Posting | Refused] | Refused:
        content_type, key = asked(request).content_type, asked(request).idempotency
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
                self._network.refuse(caller, post, 0, partial(answer.answered, place))
            else:
                postings.append(post if key is None else _with_key(post, key, place))
                places.append(place)
        if len(places) == len(posts):
            self._network.submit_many(caller, postings, answer.answered)
        else:
            self._network.submit_many(caller, postings, lambda at, given: answer.answered(places[at], given))

    def rate(self, caller: Caller, posts: int) -> RateState:
        """What is left of the organization's allowance after these posts."""
        own = _own_rate(self._network.directory, caller.organization)
        if not own and not self._limiter.per_s:
            return UNLIMITED
        return self._limiter.take(caller.organization, self._network.clock.monotonic(), per_s=own, count=posts)

    # --- receiving ---------------------------------------------------------------------------------------------

    def _poll(self, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        plain = codec is JSON_FORM and wants_plain(caller, asked(request).accept)
        asks = partial(codec.decode_poll, request.body, self._limits)
        self._hand_out(
            caller, request, reply, codec, HandingOut(asks, plain, answer_messages if plain else answer_polled)
        )

    def _next(self, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        """The next message as itself."""
        if request.method == b"HEAD":
            refusal = Refused("method.not-allowed", "Messages are taken with GET, which leases them")
            answer_refused(reply, codec, refusal, ((b"allow", b"GET"),))
            return
        plain = wants_plain(caller, asked(request).accept)
        if caller.service is not None and not plain:
            codec = FORMS.get(caller.service.format, codec)
        asks = partial(next_request, request.query, self._limits)
        self._hand_out(caller, request, reply, codec, HandingOut(asks, plain, answer_next))

    def _hand_out(self, caller: Caller, request: Request, reply: Reply, codec: Codec, how: HandingOut) -> None:
        if reply.closed:  # it left while we found out who it is; what is handed out counts as tried
            return
        patience = Patience()
        patience.over = self._ending
        self._waiting.add(patience)
        task = self._later(self._handed_out(caller, request, reply, codec, how, patience), request, reply, codec)
        task.add_done_callback(lambda _: self._waiting.discard(patience))
        reply.on_disconnect(patience.end)

    async def _handed_out(
        self, caller: Caller, request: Request, reply: Reply, codec: Codec, how: HandingOut, patience: Patience
    ) -> None:
        try:
            poll = how.asks()
            into = codec if how.plain else answer_codec(asked(request).accept, codec)
            handed = await self._handed(caller, poll, how.plain, patience)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, codec, unavailable)
        else:
            if reply.closed:
                await self._give_back(caller, [one.delivered for one in handed])
            else:
                how.answer(reply, handed, into)

    async def _handed(self, caller: Caller, poll: PollRequest, plain: bool, patience: Patience) -> list[Handed]:
        if plain:
            return await self._network.poll_in_format(caller, poll, patience)
        return [Handed(delivered) for delivered in await self._network.poll(caller, poll, patience)]

    async def _give_back(self, caller: Caller, delivered: list[Delivered]) -> None:
        if delivered:
            tokens = tuple(message.token for message in delivered)
            settlement = Settlement(tokens=tokens, outcome=Outcome.NACK, reason="the poller left before the answer")
            with contextlib.suppress(Unavailable):  # then they come again when the lease is over
                await self._network.settle(caller, settlement)

    def _settle(self, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        self._later(self._settled(caller, request, reply, codec), request, reply, codec)

    async def _settled(self, caller: Caller, request: Request, reply: Reply, codec: Codec) -> None:
        try:
            settlement = codec.decode_settlement(request.body, self._limits)
            result = await self._network.settle(caller, settlement)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, codec, unavailable)
        else:
            reply(200, codec.encode_settlement_result(result), codec.media_type.encode())

    # --- SOAP --------------------------------------------------------------------------------------------------

    def _wsdl(self, request: Request, reply: Reply) -> None:
        """The WSDL, for this very address unless the operator has named a public one."""
        host = (request.header(b"host") or b"localhost").decode("latin-1")
        base = self._public_url or f"{'https' if request.secure else 'http'}://{host}"
        reply(200, wsdl(f"{base}/soap"), b"text/xml; charset=utf-8")

    def _later(
        self, work: Coroutine[Any, Any, None], request: Request, reply: Reply, codec: Codec
    ) -> asyncio.Task[None]:
        """Do the work beside others; a mistake in it is answered too, or its client would wait in vain."""

        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                log_mistake(request.method, request.path, error)
                if not reply.answered:
                    answer_refused(reply, codec, Refused("internal", "The server logged what went wrong; try again"))

        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(ended)
        return task


def _in_own_form(served: Served) -> Find:
    return lambda request: (codec_for(asked(request).content_type, request.body), served)


def _with_key(posting: Posting, key: str, place: int) -> Posting:
    """A key for the call is one for each message in its place."""
    mark = fingerprint(msgspec.msgpack.encode(posting.message))
    return replace(posting, idempotency=f"{key}/{place}", fingerprint=mark)


def _own_rate(directory: Directory, organization: str) -> int:
    """The rate agreed with the organization; 0 when it has the network's."""
    known: int | None = directory.cache.get(("rate", organization))
    if known is None:
        found = directory.organization(organization)
        known = directory.cache["rate", organization] = found.posts_per_s if found is not None else 0
    return known


def _xsd(request: Request, reply: Reply) -> None:
    reply(200, MESSAGES_XSD, b"text/xml; charset=utf-8")


def _answer_post(reply: Reply, codec: Codec, answer: Answer, rate: RateState) -> None:
    if isinstance(answer, PostResult):
        headers = rate_headers(rate)
        if isinstance(answer, Replayed):
            headers += ((b"idempotency-replayed", b"true"),)
        status = 200 if isinstance(codec, SoapCodec) else 202  # stock SOAP clients take a 202 for "no answer"
        reply(status, codec.encode_result(answer), codec.media_type.encode(), headers)
    elif isinstance(answer, Refused):
        answer_refused(reply, codec, answer, rate_headers(rate))
    else:
        answer_unavailable(reply, codec, answer)
