"""A network with an AS2 partner, and that partner's side of the agreement, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

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
from postroad.core.model.history import Stop
from postroad.core.model.journal import Entry
from postroad.errors import Misconfigured, Refused
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.as2.receive import As2ReceiveStage, As2Request
from postroad.flow.as2.receive_mdns import MdnReceiver
from postroad.flow.as2.send_mdns import MdnSender
from postroad.flow.network import Network
from postroad.flow.push.stage import PushStage
from postroad.flow.registries.as2_partners import As2Partners
from postroad.ports import Pusher
from postroad.testing import Scenario, make_part
from postroad.testing.fixed_secrets import FixedSecrets
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


class OneKey(FixedSecrets):
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


class As2Scenario(Scenario):
    """Aster/Orders sends to Aster/Acme, which is an AS2 partner; what is sent to the partner is in ``posts``."""

    def __init__(self) -> None:
        super().__init__(pushes=False)
        self.key, self.posts = OneKey(), Posts()
        self.http_caller: Caller | None = None
        self.charged: list[str] = []
        self.limited = False

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.partners = As2Partners(self.key, lambda service: "https://net.example/as2")
        self.reception = reception_for(self.network, self.partners, self.posts)
        self.pushing = PushStage(self.network, self.posts, self.key, partners=self.partners)
        await self.service(ORDERS)
        profile: dict[str, Any] = {"format": "as2", "delivery": DeliveryMode.PUSH, "push": PUSHED, "as2": AGREED}
        await self.service(ACME, visibility=Visibility.PRIVATE, **profile)
        self.pushing.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.pushing.close()
        await self.reception.close()
        await super().__aexit__(*error)

    async def take_as2(self, built: BuiltMessage) -> BuiltMdn | None:
        """Take a message of the partner, as the AS2 endpoint does."""
        return await self.take_wire(built.headers, built.body)

    async def take_wire(self, headers: Headers, body: bytes) -> BuiltMdn | None:
        lower = [(name.lower(), value) for name, value in headers]
        return await self.reception.receive(
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

    async def mdn_for(self, built: BuiltMessage) -> Mdn:
        """Return the MDN that the partner gets, read as the partner reads it."""
        answered = await self.take_as2(built)
        assert answered is not None
        return read_mdn(answered.headers, answered.body, ours())

    async def take_and_prove(self, built: BuiltMessage) -> None:
        """Take a message; its MDN proves that to the partner."""
        verdict = judge_mdn(await self.mdn_for(built), built.sent)
        assert verdict.acknowledged, verdict.reason

    async def send(self, body: bytes = DOCUMENT, **header: Any) -> str:
        """Send a document to the partner; returns its session."""
        parts = (make_part(body, content_type="application/edi-x12"),)
        return (await self.post(ORDERS, ACME, parts=parts, **header)).session

    async def stop(self, session: str) -> Stop:
        """Return the last service that a message reached, with what happened there."""
        return (await self.stops(session))[-1]

    async def ends(self, session: str, state: str) -> Stop:
        """Wait until a message has this state."""

        async def stop() -> Stop | None:
            found = await self.stop(session)
            return found if found.state == state else None

        return await eventually_async(stop, why=f"it has not come to {state}")

    async def until(self, holds: Callable[[list[Entry]], bool]) -> None:
        """Wait until the journal has what a test looks for."""

        async def is_there() -> bool:
            return holds(await self.journal())

        await eventually_async(is_there)

    async def mdns_sent(self) -> None:
        """Wait until no asynchronous MDN is under way any more."""
        await eventually_async(lambda: not self.reception._mdn_sender._under_way)

    async def agree(self, **changes: Any) -> None:
        """Change the partnership."""
        terms = self.profile(ACME).as2
        assert terms is not None
        await self.change(ACME, as2=replace(terms, **changes))


def reception_for(network: Network, partners: As2Partners, pusher: Pusher) -> As2Gateway:
    receiving = As2ReceiveStage(network, partners, DEFAULT_LIMITS)
    return As2Gateway(receiving, MdnSender(pusher, 5.0), MdnReceiver(network, partners))


def opened(request: PushRequest, own: As2Identity | None = None) -> OpenedMessage:
    """What the partner finds in the message."""
    return open_message(
        list(request.headers.items()), request.body, own or theirs(), ours(), PartnershipTerms(must_be_signed=False)
    )


def build_partner_mdn(
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
