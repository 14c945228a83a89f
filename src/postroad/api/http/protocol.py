"""One HTTP/1.1 connection: reads bytes, passes requests to a fast route or the ASGI application, responds in order.

A connection is always in one phase, and the server's timer (``check``) limits each of them:

    idle ─first byte→ head ─complete→ body ─complete→ (answered by the outbox or the exchange) ─→ idle
      any ─invalid, too large, too slow→ refused ─response sent→ lingering ─→ closed

Rule: a request is read only when it can be started; until then its bytes stay in the buffer, and reading stops when
enough has accumulated. So a client that does not read, or an application that does not keep up, slows only its own
sender.
"""

from __future__ import annotations

import asyncio
import re
from typing import cast

from postroad.api.http.asgi import AsgiExchange
from postroad.api.http.deadlines import ConnectionEnding, ConnectionPhase, judge_phase
from postroad.api.http.fast_calls import FastCall, RepeatedHead, serve
from postroad.api.http.framing import ChunkedFraming, LengthFraming
from postroad.api.http.front import Front
from postroad.api.http.gates import ReadGate, WriteGate
from postroad.api.http.head import HeadMemory, RequestHead, head_end
from postroad.api.http.incoming_request import IncomingRequest
from postroad.api.http.outbox import Outbox
from postroad.api.http.proxy import ClientOrigin
from postroad.api.http.request import FastRoute
from postroad.api.http.request_gate import BUSY, BUSY_CODE, RequestGate
from postroad.api.http.wire import CONTINUE
from postroad.core.model.refusals import status_of
from postroad.errors import Refused

QUEUED_BYTES = 32 << 10  # of posts that wait on one connection; the oldest are refused when there is twice as much
BLANK_LINES = re.compile(rb"(?:\r\n)*")


class HttpConnection(asyncio.Protocol):
    def __init__(self, front: Front) -> None:
        self._front = front
        self._pending = b""
        self._incoming: IncomingRequest | None = None
        self._exchange: AsgiExchange | None = None
        self._since_s = front.loop.time()  # when the current phase began
        self._input_closed = self._draining_input = False  # no further input is parsed; what arrives is discarded
        self._gate = RequestGate(self, front)
        self._has_place = False
        self._heads = HeadMemory(front.limits)
        self._head: RequestHead | None = None  # the last valid head: refusals use its format
        self._again: RepeatedHead | None = None
        self.owes_continue = False

    # called by the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        front, self._transport = self._front, cast(asyncio.Transport, transport)
        name, tls = transport.get_extra_info("peername"), transport.get_extra_info("ssl_object")
        peer = str(name[0]) if isinstance(name, tuple) else ""
        direct = ClientOrigin(peer, tls is not None, tls.getpeercert(binary_form=True) if tls is not None else None)
        self._direct = front.proxies.origin((), direct)  # a proxy's own certificate is not that of its client
        self._reads = ReadGate(self._transport, front.loop)
        self._writes = WriteGate(self._transport)
        self.outbox = Outbox(self._transport, front.capacity, front.date, front.retry_after, self._sent)
        self._transport.set_write_buffer_limits(high=front.limits.write_buffer_bytes)
        front.enter(self)
        self._has_place = front.capacity.enter(peer, counted_by_peer=not front.proxies.trusts(peer))
        if front.draining:  # the system had accepted it before the listener was closed
            self.drain()
        elif not self._has_place:
            self._turn_away()

    def data_received(self, data: bytes) -> None:
        again = self._again
        if again is not None and len(data) == again.whole_bytes and data.startswith(again.raw) and self._is_free():
            front = self._front
            if again.route.is_post is None or front.posts.admits(len(data)):
                now = self._since_s = front.loop.time()
                serve(front, self.outbox, again.route, again.head, self._direct, data[len(again.raw) :], now=now)
                return
        if self._input_closed:
            return
        if not self._pending and self._incoming is None:
            self._since_s = self._front.loop.time()
        self._pending = self._pending + data if self._pending else data
        if self._gate.waits_for_turn:
            self._note_waiting()
        else:
            self._advance()

    def eof_received(self) -> bool:
        """Keep the connection open for pending responses, since a client that closed its side may still read."""
        owed = self.outbox.replies
        if not owed or self._exchange is not None or not self._transport.can_write_eof():
            return False
        if any(reply.waits_for_news for reply in owed):
            return False  # it may have disconnected, and messages handed out to it would be lost
        self._stop_reading_requests()
        owed[-1].closes = True
        return True

    def pause_writing(self) -> None:
        self._writes.shut(self._front.loop.time())

    def resume_writing(self) -> None:
        self._writes.open()
        self.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        front, exchange = self._front, self._exchange
        self._stop_reading_requests()
        front.leave(self)
        if self._has_place:
            front.capacity.leave(self._direct.peer, counted_by_peer=not front.proxies.trusts(self._direct.peer))
        self._writes.open()
        if exchange is not None:
            exchange.disconnect()
        self.outbox.lose()

    # processing input

    def _advance(self) -> None:
        outbox = self.outbox
        outbox.corked = True
        try:
            while self._pending and self._take():
                pass
        except Refused as refused:
            self._refuse(refused)
        outbox.corked = False
        outbox.flush()
        if self._pending or not self._reads.is_open:
            self._adjust_reading()

    def _take(self) -> bool:
        """Process one step of the input; False if it must wait for another event."""
        if self._incoming is not None:
            return self._take_body(self._incoming)
        return not self._is_busy() and self._take_head()

    def _is_free(self) -> bool:
        """Whether a complete request can be served at once, because no other is pending."""
        return not (
            self._pending
            or self.outbox.replies
            or self._incoming is not None
            or self._exchange is not None
            or self._input_closed
            or self._front.draining
            or not self._writes.is_open
            or not self._front.capacity.may_begin
        )

    def _is_busy(self) -> bool:
        return (
            self._exchange is not None
            or self._gate.is_shut
            or (self._front.draining and self._head is not None)
            or not self._writes.is_open
            or len(self.outbox.replies) >= self._front.limits.pipelined
        )

    def _take_head(self) -> bool:
        front, pending, self._gate.route = self._front, self._pending, None
        if pending[0] == 13 and (blank := BLANK_LINES.match(pending)):
            self._pending = pending = pending[blank.end() :] or b"\r\n"  # blank lines alone do not restart the clock
        end = head_end(pending, front.limits)
        if end < 0:
            return False
        head = self._head = self._heads.read(pending[:end])
        route = front.route(head.method, head.path)
        body_end = end + head.content_length
        body = pending[end:body_end] if route is not None and not head.chunked and len(pending) >= body_end else None
        if not self._gate.admits(head, route, body, self._origin(head), owes_replies=bool(self.outbox.replies)):
            return False
        self._gate.waits_since_s = 0.0
        if route is not None and body is not None:
            self._pending = pending[body_end:]
            self._again = RepeatedHead.of(pending[:end], head, route)
            self._serve_whole(head, route, body)
        else:
            self._pending = pending[end:]
            self._begin(head, route)
        return True

    def _note_waiting(self) -> None:
        """Refuse the oldest posts if too many wait; else stop reading, since one read in each turn costs less."""
        before = len(self._pending)
        self.refuse_posts(QUEUED_BYTES)
        # also if none can be refused, such as a large one whose body has not arrived, or the client does not read responses
        if len(self._pending) == before or not self._writes.is_open:
            self._reads.shut()

    def refuse_posts(self, keep_bytes: int = 0) -> None:
        """Refuse the complete posts at the head of the input, oldest first, until at most ``keep_bytes`` are left."""
        if keep_bytes and len(self._pending) <= 2 * keep_bytes:
            return
        if end := self._gate.refuse_posts(self._pending, keep_bytes, self._heads, self.outbox):
            self._pending = self._pending[end:]
        elif not keep_bytes:  # its body has not arrived
            self._refuse(Refused(BUSY_CODE, BUSY))

    def _origin(self, head: RequestHead) -> ClientOrigin:
        return self._front.proxies.origin(head.forwarded, self._direct) if head.forwarded else self._direct

    def _serve_whole(self, head: RequestHead, route: FastRoute, body: bytes) -> None:
        if not head.keep_alive:
            self._stop_reading_requests()
        serve(self._front, self.outbox, route, head, self._origin(head), body, now=self._front.loop.time())

    def _begin(self, head: RequestHead, route: FastRoute | None) -> None:
        front, now, origin = self._front, self._front.loop.time(), self._origin(head)
        self.owes_continue = head.expects_continue and not self._pending
        if route is None:
            sink: FastCall | AsgiExchange = AsgiExchange(self, front, head, origin)
            self._exchange, limit = cast(AsgiExchange, sink), front.limits.body_bytes
        else:
            sink, limit = FastCall(front, self.outbox, route, head, origin), route.max_body_bytes
        framing = ChunkedFraming(limit) if head.chunked else LengthFraming(head.content_length)
        self._incoming = IncomingRequest(framing, sink, now)
        if not head.content_length and not head.chunked:
            self._complete(sink)
        if self._exchange is not None:
            self._exchange.start()
        elif not self.outbox.replies:
            self.send_continue()

    def send_continue(self) -> None:
        if self.owes_continue and not self._input_closed:
            self.owes_continue = False
            self._transport.write(CONTINUE)
            if self._incoming is not None:
                self._incoming.started_at_s = self._front.loop.time()

    def _take_body(self, incoming: IncomingRequest) -> bool:
        if incoming.sink.is_full:
            return False
        content, self._pending, complete = incoming.framing.take(self._pending)
        incoming.received += len(content)
        if content:
            incoming.sink.feed(content)
        if complete:
            self._complete(incoming.sink)
        return True

    def _complete(self, sink: FastCall | AsgiExchange) -> None:
        self._incoming, self.owes_continue = None, False
        self._since_s = self._front.loop.time()
        if isinstance(sink, FastCall) and not sink.keeps_connection:
            self._stop_reading_requests()
        sink.complete(self._since_s)

    def _adjust_reading(self) -> None:
        """Stop reading while too much unprocessed input has accumulated; resume when it can be processed."""
        blocked = self._is_busy() if self._incoming is None else self._incoming.sink.is_full
        if not self._input_closed and blocked and len(self._pending) > self._front.limits.stream_buffer_bytes:
            self._reads.shut()
        else:
            shut_for_s = self._reads.open()
            if self._incoming is not None:
                self._incoming.started_at_s += shut_for_s

    def resume(self) -> None:
        """Continue with input that had to wait."""
        self._since_s = self._front.loop.time()
        self._gate.waits_for_replies = False
        self._advance()

    # sending responses

    def _sent(self, closes: bool) -> None:
        """Continue after the outbox has written; ``closes``: that was the last response of this connection."""
        if closes:
            self._finish()
        elif not self.outbox.replies:
            self._since_s = self._front.loop.time()
            if self._front.draining and self._incoming is None:
                self._close()
            elif self._exchange is None:
                self.send_continue()
        if self._pending and not (self.outbox.corked or self._input_closed or self._gate.waits_for_turn):
            self._front.loop.call_soon(self.resume)

    def exchange_ended(self, exchange: AsgiExchange, keeps: bool) -> None:
        """Continue after the ASGI application has responded completely or failed."""
        if self._exchange is not exchange:
            return
        self._exchange = None
        if not keeps or self._incoming is not None or self._front.draining:
            self._draining_input = self._incoming is not None
            self._stop_reading_requests()
            self._finish()
        else:
            self._front.loop.call_soon(self.resume)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def wait_until_drained(self) -> None:
        await self._writes.wait()

    def address(self, which: str) -> tuple[str, int]:
        """Return ``peername`` or ``sockname`` in the form of ASGI."""
        name = self._transport.get_extra_info(which)
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)

    # the timer

    def check(self, now: float) -> None:
        """End a phase that has exceeded its limit."""
        phase, since_s = self._phase()
        received = self._incoming.received if self._incoming is not None else 0
        decision = judge_phase(phase, now - since_s, received, self._front.limits)
        if isinstance(decision, Refused):
            self._refuse(decision)
        elif decision is ConnectionEnding.CLOSE:
            self._close()
        elif decision is ConnectionEnding.ABORT and not (phase is ConnectionPhase.STALLED and self._still_reads(now)):
            self.abort()

    def _still_reads(self, now: float) -> bool:
        return self._writes.still_moves(now, self._front.limits.body_bytes_per_s)

    def _phase(self) -> tuple[ConnectionPhase, float]:
        replies, incoming = self.outbox.replies, self._incoming
        if not self._writes.is_open or self._transport.is_closing():
            return ConnectionPhase.STALLED, self._writes.watched_since_s
        if self._input_closed and not replies and self._exchange is None:
            return ConnectionPhase.LINGERING, self._since_s
        if self._gate.waits_for_memory:
            return ConnectionPhase.WAITING, self._gate.waits_since_s
        if self._gate.waits_for_turn:  # the queue limits how long
            return ConnectionPhase.WORKING, self._since_s
        if incoming is not None and not self.owes_continue:  # before "100 Continue", the client waits for the server
            return (ConnectionPhase.BODY if self._reads.is_open else ConnectionPhase.WORKING), incoming.started_at_s
        if self._exchange is not None:
            return ConnectionPhase.WORKING, self._since_s
        if self._pending and not self._is_busy():
            return ConnectionPhase.HEAD, self._since_s
        return (ConnectionPhase.ANSWERING, replies[0].asked_at_s) if replies else (ConnectionPhase.IDLE, self._since_s)

    # ending the connection

    def drain(self, has_waited: bool = False) -> None:
        """Finish the requests in progress, because the server is stopping; a new connection may still send one request."""
        self.outbox.draining = True
        if self._head is None and not has_waited:
            self._front.loop.call_later(self._front.limits.first_request_s, self.drain, True)
        elif self._incoming is None and self._exchange is None and not self.outbox.replies:
            self._close()

    def abort(self) -> None:
        self._stop_reading_requests()
        self._transport.abort()

    def _close(self) -> None:
        """Send the remaining output and close; a timer guarantees that this ends."""
        self._writes.watch(self._front.loop.time())
        self._transport.close()

    def _stop_reading_requests(self) -> None:
        """Ignore all further input, and drop the request that was arriving."""
        incoming, self._incoming = self._incoming, None
        self._input_closed, self._pending, self.owes_continue = True, b"", False
        self._gate.leave()
        if incoming is not None and isinstance(incoming.sink, FastCall):
            incoming.sink.drop()

    def _refuse(self, refused: Refused) -> None:
        """Send a refusal after earlier responses, and parse no further input on this connection."""
        exchange, self._exchange = self._exchange, None
        self._draining_input = True
        self._stop_reading_requests()
        if exchange is not None:
            exchange.disconnect()
            if exchange.started:
                self._transport.abort()
                return
        status = status_of(refused.code)
        content_type, body = self._front.problem(status, refused.code, refused.detail, self._head)
        reply = self.outbox.open(b"1.1", True, False, self._since_s)
        self._gate.count_refusal(refused.code, reply)
        reply(status, body, content_type)

    def _turn_away(self) -> None:
        self._front.metrics.refused.value += 1
        if self._front.capacity.may_explain(len(self._front.connections)):
            self._refuse(Refused("network.busy", "too many connections; close some, or try again in a moment"))
        else:
            self._transport.abort()

    def _finish(self) -> None:
        """Close the connection; if the client may still be sending, only after it had time to read the response."""
        if not self._draining_input:
            self._close()
            return
        self._since_s = self._front.loop.time()
        self._reads.open()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
