"""A network of one service per format, twice over: one that polls, one that is pushed to. All of it is real but for the disk."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from postroad.adapters.system import SystemClock
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.api.as2 import As2Endpoint
from postroad.api.error_responses import front_refusal
from postroad.api.http import HttpLimits, HttpServer
from postroad.api.messages import MessageEndpoints
from postroad.client import Access
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import read_multipart
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.header_fields import write_posted
from postroad.core.mediation.model import Headers, OutgoingMessage, Wire
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication, Visibility
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.push.stage import PushStage
from postroad.flow.registries.as2_partners import As2Partners
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.as2_scenario import OneKey, reception_for
from tests.samples.push_receiver import Pushed, Receiver, receiver

OWN: dict[Format, Codec] = {
    Format.JSON: JSON_FORM,
    Format.SOAP11: SOAP11,
    Format.SOAP12: SOAP12,
    Format.ENVELOPE: ENVELOPE_FORM,
}
FORMATS: tuple[Format, ...] = (
    Format.SOAP,
    Format.SWA,
    Format.DIME,
    Format.MIME,
    Format.CLOUDEVENTS,
    *OWN,
)
GENEROUS = WireLimits(body_bytes=64 << 20)
MESSAGE_BYTES = 16 << 20


class Answered(NamedTuple):
    status: int
    headers: Headers  # names in lower case
    body: bytes

    @property
    def wire(self) -> Wire:
        return Wire(self.headers, self.body)


class Mediated:
    """The running network, and what its services do over HTTP."""

    def __init__(self, running: MemoryNetwork, receiving: Receiver, port: int) -> None:
        self.running = running
        self.receiving = receiving
        self._port = port
        self._keys: dict[str, str] = {}

    async def register(self, address: str, format: Format, *, pushed: bool = False, **profile: object) -> None:
        more = dict(profile)
        if pushed:
            push = Push(url=self.receiving.url(f"/{address}"), authentication=PushAuthentication.NONE)
            more |= {"delivery": DeliveryMode.PUSH, "push": push}
        caller = await self.running.register(address, visibility=Visibility.PUBLIC, format=format.value, **more)
        self._keys[address] = await self.running.key_for(caller)

    def access(self, address: str) -> Access:
        return Access.with_key(f"http://127.0.0.1:{self._port}", self._keys[address])

    async def ask(
        self, address: str, method: str, path: str, body: bytes | None = None, headers: Sequence[tuple[str, str]] = ()
    ) -> Answered:
        return await asyncio.to_thread(self._ask, address, method, path, body, headers)

    def _ask(
        self, address: str, method: str, path: str, body: bytes | None, headers: Sequence[tuple[str, str]]
    ) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.putrequest(method, path)
            for name, value in [("Authorization", f"Bearer {self._keys[address]}"), *headers]:
                connection.putheader(name, value.encode("latin-1"))
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            said = [(name.lower(), value) for name, value in response.getheaders()]
            return Answered(response.status, said, response.read())
        finally:
            connection.close()

    async def post(self, address: str, wire: Wire) -> Answered:
        return await self.ask(address, "POST", "/v1/messages", wire.body, wire.headers)

    async def polled(self, address: str, format: Format) -> list[Wire]:
        """What waits for a service, each message as it stands in the answer to its poll; and acknowledged."""
        answer = await self.ask(address, "POST", "/v1/poll", b'{"max":100,"waitSeconds":5}', JSON if format in PLAIN else
                                [*JSON, ("Accept", OWN[format].media_type)])  # fmt: skip
        if answer.status == 204:
            return []
        assert answer.status == 200, answer.body
        if format in PLAIN:
            parts = read_multipart(dict(answer.headers)["content-type"], answer.body, GENEROUS).parts
            wires = [
                Wire([(name.lower(), value) for name, value in part.headers()], bytes(part.body)) for part in parts
            ]
            tokens = [wire.header("postroad-token") for wire in wires]
        else:
            delivered = OWN[format].decode_delivered(answer.body, GENEROUS)
            wires = [Wire(answer.headers, OWN[format].encode_delivered([one])) for one in delivered]
            tokens = [one.token for one in delivered]
        await self.acknowledge(address, tokens)
        return wires

    async def acknowledge(self, address: str, tokens: Sequence[str]) -> None:
        settlement = b'{"tokens":[%b]}' % b",".join(b'"%b"' % token.encode() for token in tokens)
        settled = await self.ask(address, "POST", "/v1/ack", settlement, JSON)
        assert settled.status == 200, settled.body

    async def pushed(self, address: str, count: int) -> list[Wire]:
        found = await asyncio.to_thread(self.receiving.wait_for, f"/{address}", count)
        return [wire_pushed(one) for one in found]


JSON = [("Content-Type", "application/json")]


def wire_pushed(pushed: Pushed) -> Wire:
    return Wire([(name.lower(), value) for name, value in pushed.headers.items()], pushed.body)


def posted(format: Format, parts: tuple[Part, ...], to: Sequence[str], **header: str) -> Wire:
    """A message as somebody with software of this format posts it."""
    message = Message(to=tuple(map(Recipient, to)), **header)  # type: ignore[arg-type]
    if format in OWN:
        named = Message(to=message.to, parts=parts, **header)  # type: ignore[arg-type]
        return Wire([("content-type", OWN[format].media_type)], OWN[format].encode_post(named))
    given = encode_message(OutgoingMessage(parts=parts, seed=b"posted", **header), format)  # type: ignore[arg-type]
    beside = [("content-type", given.media_type), *given.headers, *write_posted(message)]
    return Wire([(name.lower(), value) for name, value in beside], given.data)


def parts_in(wire: Wire, format: Format) -> tuple[Part, ...]:
    """The parts of a message as its receiver reads them."""
    if format in OWN:
        [delivered] = OWN[format].decode_delivered(wire.body, GENEROUS)
        return delivered.parts
    return decode_wire(wire, GENEROUS).parts


@asynccontextmanager
async def mediated(receiving: Receiver) -> AsyncIterator[Mediated]:
    async with memory_network() as running:
        endpoints = MessageEndpoints(
            running.network, running.authenticator, message_bytes=MESSAGE_BYTES, bulk_bytes=MESSAGE_BYTES
        )
        permission = Permission.of(("127.0.0.0/8",), ("*",))
        pusher = HttpPusher(resolver=SystemResolver(), clock=SystemClock(), permission=permission)
        secrets = OneKey()
        partners = As2Partners(secrets, lambda service: "http://127.0.0.1/as2")
        reception = reception_for(running.network, partners, pusher)
        as2 = As2Endpoint(reception, running.authenticator, endpoints.rate, message_bytes=MESSAGE_BYTES)
        server = HttpServer(_nothing_else, endpoints.routes() | as2.routes(), HttpLimits(), front_refusal)
        pushing = PushStage(running.network, pusher, secrets, partners=partners)
        pushing.start()
        try:
            yield Mediated(running, receiving, await server.start("127.0.0.1", 0))
        finally:
            await pushing.close()
            await reception.close()
            await pusher.close()
            await server.stop(1.0)


async def _nothing_else(scope: object, receive: object, send: object) -> None:
    raise NotImplementedError("only the message endpoints are asked here")


def polling(format: Format) -> str:
    return f"Polling/{format.value}"


def pushed_to(format: Format) -> str:
    return f"Pushed/{format.value}"


@pytest.fixture
def receiving() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
async def network(receiving: Receiver) -> AsyncIterator[Mediated]:
    async with mediated(receiving) as running:
        for format in FORMATS:
            await running.register(polling(format), format)
            await running.register(pushed_to(format), format, pushed=True)
        yield running
