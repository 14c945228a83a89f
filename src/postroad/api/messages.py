"""The message endpoints: post, post many, poll, take the next, acknowledge, and the one SOAP address for all of them.

They run on the HTTP front's fast routes: plain functions on the event loop that may answer later. Rules: the answer
uses the caller's own format, also for refusals. A post is answered when its entry is durable. A long poll ends when
its client disconnects, and deliveries that were not received are returned at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from html import escape
from typing import NamedTuple

from postroad.api.error_responses import answer_refused, answer_unavailable
from postroad.api.external_messages import (
    WrittenResponse,
    read_next_request,
    wants_external_format,
    write_messages,
    write_next,
    write_polled,
)
from postroad.api.http.error_log import log_error
from postroad.api.http.request import FastHandler, FastReply, FastRequest, FastRoute, FastRoutes, is_always_post
from postroad.api.message_headers import read_message_headers
from postroad.api.posts import NO_SOAP, PostEndpoints, Served
from postroad.api.response_form import choose_response_codec, detect_post_form
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.native_formats import CODECS, FORMS, choose_answer_form, codec_for, find_operation
from postroad.core.codecs.schema import MESSAGES_XSD, wsdl
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.caller import Caller
from postroad.core.model.message import Delivered
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import Proof
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.stages.body_reader import LARGE_BYTES
from postroad.flow.stages.mediate import HandedDelivery

REQUEST_BYTES = 1 << 20  # of polls and settlements
WRITTEN_AT_ONCE = 50  # messages of a poll response written on the event loop, in a few milliseconds
WRITTEN_AT_ONCE_BYTES = 1 << 20

Find = Callable[[FastRequest], tuple[Codec, Served]]
ERROR_PAGE_TYPE = b"text/html; charset=utf-8"
ERROR_PAGE_POLICY = ((b"content-security-policy", b"default-src 'none'"), (b"x-content-type-options", b"nosniff"))


def error_page() -> bytes:
    """The page that a problem's ``type`` points to: every error code with its title."""
    entries = "".join(
        f'<dt id="{escape(code)}"><code>{escape(code)}</code> ({refusal.status})</dt><dd>{escape(refusal.title)}.</dd>'
        for code, refusal in REFUSALS.items()
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>postroad: errors</title></head><body>'
        f"<h1>Errors</h1><p>The detail of an error says what to do next.</p><dl>{entries}</dl></body></html>"
    ).encode()


ERROR_PAGE = error_page()


def serve_error_page(request: FastRequest, reply: FastReply) -> None:
    reply(200, ERROR_PAGE, ERROR_PAGE_TYPE, ERROR_PAGE_POLICY)


class PollStyle(NamedTuple):
    """How a poll is processed: how to read its request (in a thread if ``large``), and how to write the response."""

    asks: Callable[[], PollRequest]
    plain: bool
    large: bool
    write: Callable[[list[HandedDelivery], Codec], WrittenResponse]


class MessageEndpoints(PostEndpoints):
    def routes(self) -> FastRoutes:
        return {
            (b"POST", b"/v1/messages"): FastRoute(
                self._serving(self._find_post), self._message_bytes, "post", is_always_post
            ),
            (b"GET", b"/v1/messages/next"): FastRoute(self._authenticated(self._next), 0, "next"),
            (b"POST", b"/v1/messages/bulk"): FastRoute(
                self._authenticated(self._bulk), self._bulk_bytes, "bulk", is_always_post
            ),
            (b"POST", b"/v1/poll"): FastRoute(self._serving(_in_own_form(self._poll)), REQUEST_BYTES, "poll"),
            (b"POST", b"/v1/ack"): FastRoute(self._serving(_in_own_form(self._settle)), REQUEST_BYTES, "acknowledge"),
            (b"POST", b"/soap"): FastRoute(
                self._serving(self._find_operation, SOAP11), self._message_bytes, "soap", is_soap_post
            ),
            (b"GET", b"/soap"): FastRoute(self._wsdl, 0, "document"),
            (b"GET", b"/soap/messages.xsd"): FastRoute(_xsd, 0, "document"),
            (b"GET", b"/docs/errors"): FastRoute(serve_error_page, 0, "document"),
        }

    def end_waiting(self) -> None:
        """Answer all waiting polls now, because the server is about to stop."""
        self._ending = True
        for wait in tuple(self._waiting):
            wait.cancel()

    # --- caller and format ---------------------------------------------------------------------------------------

    def _serving(self, find: Find, usual: Codec = JSON_FORM) -> FastHandler:
        """Return a handler that chooses the response format first, so that even a missing password is answered in it."""

        def handler(request: FastRequest, reply: FastReply) -> None:
            codec = usual
            try:
                codec, served = find(request)
                self._as_caller(request, reply, codec, served)
            except Refused as refusal:
                answer_refused(reply, codec, refusal)
            except Exception as error:
                log_error(request.method, request.path, error)
                if not reply.answered:
                    answer_refused(reply, codec, Refused("internal", "The request failed; try again"))

        return handler

    def _find_post(self, request: FastRequest) -> tuple[Codec, Served]:
        """Return the codec and handler of a post in any format; a malformed post is refused after authentication."""
        if self._is_large(request):
            return CODECS.get(media_type_of(read_message_headers(request).content_type), JSON_FORM), partial(
                self._post_large, False
            )
        own = detect_post_form(request)
        return choose_response_codec(request, own), partial(self._post, own)

    def _find_operation(self, request: FastRequest) -> tuple[Codec, Served]:
        """Return the operation named by the element in the SOAP Body; any other envelope is a post."""
        if self._is_large(request):
            return CODECS.get(media_type_of(read_message_headers(request).content_type), SOAP11), partial(
                self._post_large, True
            )
        own = detect_post_form(request)
        codec = choose_response_codec(request, own)
        if codec not in (SOAP11, SOAP12):
            return SOAP11, partial(self._post, own if isinstance(own, Refused) else NO_SOAP)
        post = partial(self._post, own)
        return codec, self._operation(find_operation(request.body)) or post

    def organization_of(self, request: FastRequest) -> str:
        """Return the organization of a caller whose credentials were proven recently; otherwise its address."""
        caller = self._authenticator.find_remembered(read_message_headers(request).proof, request.peer)
        return request.peer if caller is None else caller.organization or caller.name

    def _operation(self, name: str) -> Served | None:
        return {"Poll": self._poll, "Acknowledge": self._settle}.get(name)

    def _authenticated(self, served: Served) -> FastHandler:
        return lambda request, reply: self._as_caller(request, reply, JSON_FORM, served)

    def _as_caller(self, request: FastRequest, reply: FastReply, codec: Codec, served: Served) -> None:
        proof = read_message_headers(request).proof
        caller = self._authenticator.find_remembered(proof, request.peer)
        if caller is not None:
            served(caller, request, reply, codec)
        else:
            self._later(self._authenticate(proof, request, reply, codec, served), request, reply, codec)

    async def _authenticate(
        self, proof: Proof, request: FastRequest, reply: FastReply, codec: Codec, served: Served
    ) -> None:
        try:
            caller = await self._authenticator.authenticate(proof, request.peer)
            served(caller, request, reply, codec)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)

    # --- receiving ---------------------------------------------------------------------------------------------

    def _poll(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        plain = codec is JSON_FORM and wants_external_format(caller, read_message_headers(request).accept)
        asks = partial(codec.decode_poll, request.body, self._limits)
        self._hand_out(
            caller,
            request,
            reply,
            codec,
            PollStyle(asks, plain, len(request.body) > LARGE_BYTES, write_messages if plain else write_polled),
        )

    def _next(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        """Return the next message in its external format, without an envelope of the network."""
        if request.method == b"HEAD":
            refusal = Refused("method.not-allowed", "Use GET to receive messages, which leases them")
            answer_refused(reply, codec, refusal, ((b"allow", b"GET"),))
            return
        plain = wants_external_format(caller, read_message_headers(request).accept)
        if caller.service is not None and not plain:
            codec = FORMS.get(caller.service.format, codec)
        asks = partial(read_next_request, request.query, self._limits)
        self._hand_out(caller, request, reply, codec, PollStyle(asks, plain, large=False, write=write_next))

    def _hand_out(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec, how: PollStyle) -> None:
        if reply.closed:  # the client disconnected during authentication; a hand-out would count as an attempt
            return
        wait = InterruptibleWait()
        wait.cancelled = self._ending
        self._waiting.add(wait)
        task = self._later(self._handed_out(caller, request, reply, codec, how, wait), request, reply, codec)
        task.add_done_callback(lambda _: self._waiting.discard(wait))
        reply.on_disconnect(wait.cancel)

    async def _handed_out(
        self,
        caller: Caller,
        request: FastRequest,
        reply: FastReply,
        codec: Codec,
        how: PollStyle,
        wait: InterruptibleWait,
    ) -> None:
        try:
            who = caller.organization or caller.name
            poll = await self._network.heavy.run(who, how.asks) if how.large else how.asks()
            into = codec if how.plain else choose_answer_form(read_message_headers(request).accept, codec)
            handed = await self._claim(caller, poll, how.plain, wait)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, codec, unavailable)
        else:
            written = None if reply.closed else await self._written(caller, how, handed, into)
            if reply.closed or written is None:
                await self._give_back(caller, [one.delivered for one in handed])
            else:
                reply(*written)

    async def _written(
        self, caller: Caller, how: PollStyle, handed: list[HandedDelivery], into: Codec
    ) -> WrittenResponse:
        """Return the response with the deliveries, encoded in a thread if that takes long."""
        size = sum(len(part.data) for one in handed for part in one.delivered.parts)
        if len(handed) <= WRITTEN_AT_ONCE and size <= WRITTEN_AT_ONCE_BYTES:
            return how.write(handed, into)
        who = caller.organization or caller.name
        return await self._writing.run(who, lambda: how.write(handed, into), bounded=False)

    async def _claim(
        self, caller: Caller, poll: PollRequest, plain: bool, wait: InterruptibleWait
    ) -> list[HandedDelivery]:
        if plain:
            return await self._network.poll_in_format(caller, poll, wait)
        return [HandedDelivery(delivered) for delivered in await self._network.poll(caller, poll, wait)]

    async def _give_back(self, caller: Caller, delivered: list[Delivered]) -> None:
        if delivered:
            tokens = tuple(message.token for message in delivered)
            settlement = Settlement(tokens=tokens, outcome=Outcome.NACK, reason="the poller left before the answer")
            with contextlib.suppress(Unavailable):  # then they are redelivered when the lease ends
                await self._network.settle(caller, settlement)

    def _settle(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        self._later(self._settled(caller, request, reply, codec), request, reply, codec)

    async def _settled(self, caller: Caller, request: FastRequest, reply: FastReply, codec: Codec) -> None:
        try:
            decode = partial(codec.decode_settlement, request.body, self._limits)
            who = caller.organization or caller.name
            large = len(request.body) > LARGE_BYTES
            settlement = await self._network.heavy.run(who, decode) if large else decode()
            result = await self._network.settle(caller, settlement)
        except Refused as refusal:
            answer_refused(reply, codec, refusal)
        except Unavailable as unavailable:
            answer_unavailable(reply, codec, unavailable)
        else:
            reply(200, codec.encode_settlement_result(result), codec.media_type.encode())

    # --- SOAP --------------------------------------------------------------------------------------------------

    def _wsdl(self, request: FastRequest, reply: FastReply) -> None:
        """Return the WSDL for the requested address; an unknown Host header is not repeated in it."""
        host = (request.header(b"host") or b"").decode("latin-1")
        base = self._own_address.url_at(host, secure=request.secure)
        reply(200, wsdl(f"{base}/soap"), b"text/xml; charset=utf-8", ((b"cache-control", b"no-store"),))


def is_soap_post(body: bytes) -> bool:
    """Whether an envelope is a post, like every one that does not ask for another operation."""
    return find_operation(body) not in ("Poll", "Acknowledge")


def _in_own_form(served: Served) -> Find:
    return lambda request: (codec_for(read_message_headers(request).content_type, request.body), served)


def _xsd(request: FastRequest, reply: FastReply) -> None:
    reply(200, MESSAGES_XSD, b"text/xml; charset=utf-8")
