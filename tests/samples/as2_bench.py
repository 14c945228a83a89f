"""A network with an AS2 partner, and that partner's side of the agreement, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from postroad.core.codecs.as2 import (
    PROCESSED,
    As2Identity,
    BuiltMdn,
    BuiltMessage,
    Disposition,
    Mdn,
    Mic,
    OpenedMessage,
    PartnershipTerms,
    build,
    build_mdn,
    judge_mdn,
    open_message,
    read_mdn,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.cms import Identity
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.caller import Caller
from postroad.core.model.directory import As2, DeliveryMode, Push, PushAuthentication, Service, Visibility
from postroad.core.model.journal import Entry, decode
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.errors import Misconfigured, Refused
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.as2.receive import As2ReceiveStage, As2Request
from postroad.flow.as2.receive_mdns import MdnReceiver
from postroad.flow.as2.send_mdns import MdnSender
from postroad.flow.network import Network
from postroad.flow.push.stage import PushStage
from postroad.flow.registries.as2_partners import As2Partners
from postroad.flow.registries.configuration import build_save
from postroad.ports import Pusher
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.as2_parties import NOW
from tests.samples.cms_people import clerk, partner
from tests.waiting import WITHIN_S, eventually_async

ORDERS, ACME = "Aster/Orders", "Aster/Acme"
URL = "https://acme.example/as2"
RECEIPTS = "https://acme.example/receipts"
HEAD = b"Content-Type: application/edi-x12\r\n"
DOCUMENT = b"ISA*00*          *00*          *ZZ*ACME~\nIEA*1*1~\r\n\x00\xff"


def certificate_pem(identity: Identity) -> str:
    return identity.certificate.public_bytes(Encoding.PEM).decode()


def key_pem(*identities: Identity) -> str:
    keys = [one.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode() for one in identities]
    return "".join(key + certificate_pem(one) for key, one in zip(keys, identities, strict=True))


AGREED = As2(
    name="ACME",
    own_name="My Biz",
    certificates=(certificate_pem(partner()),),
    secret_from="file:as2.pem",
    deliver_to=ORDERS,
)
PUSHED = Push(url=URL, authentication=PushAuthentication.NONE)


def theirs(*identities: Identity) -> As2Identity:
    """The partner's own side."""
    return As2Identity(name="ACME", identities=identities or (partner(),))


def ours(*identities: Identity) -> As2Identity:
    """Our side as the partner knows it."""
    known = identities or (clerk(),)
    return As2Identity(name="My Biz", certificates=tuple(one.certificate for one in known))


def sent_by_acme(
    message_id: str = "<1@acme.example>",
    body: bytes = DOCUMENT,
    *,
    agreement: PartnershipTerms | None = None,
    own: As2Identity | None = None,
    head: bytes = HEAD,
) -> BuiltMessage:
    return build(
        head,
        [body],
        own or theirs(),
        ours(),
        agreement or PartnershipTerms(),
        message_id=message_id,
        at=datetime(2026, 11, 16, 9, 0, tzinfo=UTC),
        boundary_seed=message_id.encode(),
        randomness=lambda size: bytes(size),
    )


class OneKey:
    """Secrets of an operator who has put one file into place."""

    def __init__(self) -> None:
        self.text = key_pem(clerk())

    def secret(self, service: Service, reference: str) -> str:
        if not self.text:
            raise Misconfigured([f"{reference}: this file does not exist in push-secrets"])
        return self.text

    def file(self, service: Service, reference: str) -> str:
        raise Misconfigured(["there are no files here"])


@dataclass
class Posts:
    """Instead of the Internet: keeps what is pushed, and answers as it is told to."""

    answers: list[PushAnswer] = field(default_factory=list)
    answering: Callable[[PushRequest], PushAnswer] = lambda request: PushAnswer(status=200)
    requests: list[PushRequest] = field(default_factory=list)

    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(WITHIN_S), self.changed:
            await self.changed.wait_for(lambda: len(self.requests) >= count)

    async def push(self, request: PushRequest) -> PushAnswer:
        async with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        return self.answers.pop(0) if self.answers else self.answering(request)

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(kw_only=True)
class As2Bench:
    running: MemoryNetwork
    orders: Caller
    acme: Caller
    secrets: OneKey
    posts: Posts
    reception: As2Gateway
    pushing: PushStage
    http_caller: Caller | None = None
    charged: list[str] = field(default_factory=list)
    limited: bool = False

    async def take(self, built: BuiltMessage) -> BuiltMdn | None:
        return await self.take_wire(built.headers, built.body)

    async def take_wire(self, headers: Headers, body: bytes) -> BuiltMdn | None:
        lower = [(name.lower(), value) for name, value in headers]
        return await self.reception.take(
            As2Request(headers=lower, body=body, secure=True, authenticated=self._authenticated, charge=self._charge)
        )

    async def _authenticated(self) -> Caller:
        if self.http_caller is None:
            raise Refused("authentication.required", "Send a key")
        return self.http_caller

    def _charge(self, caller: Caller) -> None:
        self.charged.append(caller.organization)
        if self.limited:
            raise Refused("rate.exceeded", "Try again", retry_after_s=1)

    async def receipt_for(self, built: BuiltMessage) -> Mdn:
        """The receipt that the partner gets, read as it reads it."""
        answered = await self.take(built)
        assert answered is not None
        return read_mdn(answered.headers, answered.body, ours())

    async def acknowledged(self, built: BuiltMessage) -> None:
        """The message is taken, and its receipt proves it to the partner."""
        verdict = judge_mdn(await self.receipt_for(built), built.sent)
        assert verdict.acknowledged, verdict.reason

    async def post(self, body: bytes = DOCUMENT, **more: Any) -> str:
        """Have our side send something to the partner."""
        part = Part(id="1", content_type="application/edi-x12", data=body)
        message = Message(to=(Recipient(ACME),), parts=(part,), **more)
        return (await self.running.network.post(self.orders, message)).session

    async def stop(self, session: str) -> Any:
        """What became of a message at its last stop."""
        await self.running.network.indexed()
        history = await self.running.network.trace(session, None)
        assert history is not None
        return history.messages[0].copies[0].stops[-1]

    async def ends(self, session: str, state: str) -> Any:
        """Wait until the message has come to this state."""

        async def stop() -> Any:
            found = await self.stop(session)
            return found if found.state == state else None

        return await eventually_async(stop, why=f"it has not come to {state}")

    async def until(self, holds: Callable[[list[Any]], bool]) -> None:
        """Wait until the journal has what is looked for."""

        async def is_there() -> bool:
            return holds(await self.entries(object))

        await eventually_async(is_there)

    async def receipts_sent(self) -> None:
        """Wait until no late receipt is under way any more."""
        await eventually_async(lambda: not self.reception._receipts._under_way)

    async def delivered(self) -> list[Any]:
        return await self.running.network.poll(self.orders, PollRequest(max=100))

    async def entries(self, *kinds: type) -> list[Any]:
        records = (await self.running.network.journal.read(0, 1 << 24)).records
        found: list[Entry] = [decode(record.facts) for record in records]
        return [entry for entry in found if isinstance(entry, kinds)]

    async def agree(self, **changes: Any) -> None:
        """Change the agreement with the partner."""
        service = self.running.network.directory.services[self.acme.name]
        assert service.as2 is not None
        await self.change(as2=replace(service.as2, **changes))

    async def change(self, **changes: Any) -> None:
        service = self.running.network.directory.services[self.acme.name]
        await self.running.network.configuration.change("test", [build_save(replace(service, **changes))])


def reception_for(network: Network, partners: As2Partners, pusher: Pusher) -> As2Gateway:
    receiving = As2ReceiveStage(network, partners, DEFAULT_LIMITS)
    return As2Gateway(receiving, MdnSender(pusher, 5.0), MdnReceiver(network, partners))


@asynccontextmanager
async def as2_bench() -> AsyncIterator[As2Bench]:
    async with memory_network() as running:
        secrets, posts = OneKey(), Posts()
        partners = As2Partners(secrets, lambda service: "https://net.example/as2")
        reception = reception_for(running.network, partners, posts)
        pushing = PushStage(running.network, posts, secrets, partners=partners)
        at = As2Bench(
            running=running,
            orders=await running.register(ORDERS, visibility=Visibility.PUBLIC),
            acme=await running.register(ACME, format="as2", delivery=DeliveryMode.PUSH, push=PUSHED, as2=AGREED),
            secrets=secrets,
            posts=posts,
            reception=reception,
            pushing=pushing,
        )
        pushing.start()
        yield at
        await pushing.close()
        await reception.close()


def opened(request: PushRequest, own: As2Identity | None = None) -> OpenedMessage:
    """What the partner finds in the message."""
    return open_message(
        list(request.headers.items()), request.body, own or theirs(), ours(), PartnershipTerms(must_be_signed=False)
    )


def receipt(
    request: PushRequest,
    *,
    disposition: Disposition = PROCESSED,
    mic: Mic | None = None,
    signer: As2Identity | None = None,
    own: As2Identity | None = None,
) -> BuiltMdn:
    found = opened(request, own)
    return build_mdn(
        found.heading,
        signer or theirs(),
        disposition=disposition,
        mic=mic or found.mic,
        at=NOW,
        message_id="<receipt@acme.example>",
        boundary_seed=b"seed",
    )
