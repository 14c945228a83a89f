"""Receive AS2 messages: decrypt and verify them, post them as the partner's service, and return an MDN.

Rules: the MDN is made when the message is durable, never before. A repeated message is not delivered again and gets
the first MDN, rebuilt from the same data. Every refusal is recorded and reported to the partner in the MDN that it
requested. HTTP reports an error only where no MDN can be made, or where a retry is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace as changed

from postroad.core.admission.rate_limit import RateLimiter
from postroad.core.codecs.as2 import (
    PROCESSED,
    BuiltMdn,
    Disposition,
    Heading,
    Mic,
    OpenedMessage,
    build_mdn,
    disposition_of,
    open_message,
    read_heading,
)
from postroad.core.codecs.as2.headers import Headers, field_of
from postroad.core.codecs.limits import WireLimits
from postroad.core.mediation.as2_partnerships import Partnership, may_be_sent
from postroad.core.mediation.formats import message_of
from postroad.core.mediation.mime_format import decode_entity
from postroad.core.mediation.model import Wire
from postroad.core.mediation.wrapper import pack_wrapper
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Service
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, Recipient
from postroad.core.model.part_facts import MessageArrival
from postroad.core.model.refusals import REFUSALS
from postroad.core.projection.unique_keys import idempotency_key
from postroad.core.telemetry.trace_context import TRACEPARENT, TRACESTATE, pack_context
from postroad.errors import Refused
from postroad.flow.concurrency.commit import future_of
from postroad.flow.network import Network
from postroad.flow.registries.as2_partners import As2Partners
from postroad.flow.stages.posting import Answer, Posting, load_post

MAX_HANDLE = 255
OPENED_AT_ONCE = 4  # any client may send a message that takes long to open; waiting costs nothing
UNPROVEN_PER_S = 5  # refusals of messages that are not proven to come from the partner that they name
PASSING = frozenset({429, 503, 507})  # statuses that say: the same again, later


class As2Request(NamedTuple):
    """An AS2 request; header names are in lower case."""

    headers: Headers
    body: bytes
    secure: bool
    authenticated: Callable[[], Awaitable[Caller]]  # who sent it by HTTP; asked only where no signature says so
    charge: Callable[[Caller], None]  # raises Refused when the sender's organization has used up its allowance
    organization: str = ""  # at whose address it came; empty for the one that all share


class OpenedAs2Message(NamedTuple):
    """An opened AS2 message and the posting made of it."""

    opened: OpenedMessage
    posting: Posting


class MdnReply(NamedTuple):
    """An MDN and the URL to send it to; an empty URL means in the HTTP response."""

    mdn: BuiltMdn
    url: str
    is_proven: bool  # whether the message is proven to come from the partner that it names


class As2ReceiveStage:
    """Accepts AS2 messages for all services that stand for AS2 partners."""

    def __init__(self, network: Network, partners: As2Partners, limits: WireLimits) -> None:
        self._network = network
        self._partners = partners
        self._limits = limits
        self._unproven = RateLimiter(UNPROVEN_PER_S)
        self._opening = asyncio.Semaphore(OPENED_AT_ONCE)
        self._mdns = network.metrics.counters("mdns_total")

    async def receive(self, incoming: As2Request) -> MdnReply | None:
        """Accept a message and return its MDN, or None if none is requested; raises Refused if no MDN can report it."""
        heading = read_heading(incoming.headers)
        service, partnership = await self._partners.find(
            self._network.directory, heading.sender, heading.recipient, incoming.organization
        )
        try:
            session, mic = await self._taken(service, partnership, heading, incoming)
            disposition, about, is_proven = PROCESSED, session, True
        except Refused as refusal:
            is_proven = bool(refusal.session)  # it came as far as being posted
            refusal = await self._on_record(service, heading, refusal, len(incoming.body))
            if not _is_reported_by_mdn(service, heading, refusal):
                raise refusal from None
            mic, disposition, about = None, disposition_of(refusal), f"{refusal.session}.refused"
        if not heading.wish.wanted:
            return None
        mdn = await asyncio.to_thread(_make_mdn, heading, partnership, disposition, mic, about)
        self._mdns.of("sent", disposition.modifier or "processed").value += 1
        return MdnReply(mdn, heading.wish.url, is_proven)

    async def _taken(
        self, service: Service, partnership: Partnership, heading: Heading, incoming: As2Request
    ) -> tuple[str, Mic | None]:
        """Return the session under which the message was posted, now or earlier, and its digest."""
        _check_wish(service, partnership, heading)
        _check_coding(incoming.headers)
        async with self._opening:
            opened, posting = await asyncio.to_thread(_read, incoming, service, partnership, self._limits)
        caller = await self._caller(service, opened, incoming)
        session = await self._posted_before(service, posting)
        if session is None:
            incoming.charge(caller)
            session = (await self._network.carry_out(caller, posting)).session
        return session, opened.mic

    async def _caller(self, service: Service, opened: OpenedMessage, incoming: As2Request) -> Caller:
        """The partner, proven by its signature or else as any other service."""
        if opened.signer is not None:
            return Caller(service=service, level=AuthenticationLevel.CERTIFICATE, secure=incoming.secure)
        try:
            caller = await incoming.authenticated()
        except Refused as refusal:
            if REFUSALS[refusal.code].status in PASSING:
                raise
            caller = Caller()
        if caller.service is None or caller.service.gcid != service.gcid:
            raise Refused(
                "as2.insufficient-security",
                "Sign the message, or send it with the HTTP credentials of the service that represents you here",
            )
        return caller

    async def _posted_before(self, service: Service, posting: Posting) -> str | None:
        """Return the session of an earlier post of the same message; configuration changes since then do not matter."""
        seen = await self._network.desk.find_first_use(idempotency_key(service.gcid, posting.idempotency))
        first = await load_post(self._network.journal, seen[0]) if seen is not None else None
        return first.session if first is not None and first.fingerprint == posting.fingerprint else None

    async def _on_record(self, service: Service, heading: Heading, refusal: Refused, size: int) -> Refused:
        """Return the refusal with the session of its journal entry; refusals made by posting have one already."""
        if refusal.session or REFUSALS[refusal.code].status in PASSING:
            return refusal
        if not self._unproven.take(service.gcid, self._network.clock.monotonic()).allowed:
            return Refused("rate.exceeded", "Too many messages were refused; try again in a moment", retry_after_s=1)
        message = Message(handle=_handle(heading), to=_recipients(service))
        posting = Posting(message, size, Format.AS2.value)
        refuse = partial(self._network.refuse, Caller(service=service), refusal, size, posting=posting)
        answer: Answer = await future_of(refuse)
        return answer if isinstance(answer, Refused) else refusal


def _is_reported_by_mdn(service: Service, heading: Heading, refusal: Refused) -> bool:
    """Whether an MDN can report the refusal: it is requested, may be sent to its URL, and a retry would not succeed."""
    wish = heading.wish
    return wish.wanted and _is_open(service, wish.url) and REFUSALS[refusal.code].status not in PASSING


def _is_open(service: Service, url: str) -> bool:
    return not url or may_be_sent(service, url)


def _check_wish(service: Service, partnership: Partnership, heading: Heading) -> None:
    wish = heading.wish
    if wish.signed and not partnership.own.identities:
        raise Refused("as2.unsupported-format", "There is no key to sign MDNs with; request unsigned MDNs")
    if not _is_open(service, wish.url):
        raise Refused(
            "as2.receipt-address",
            "The MDN is requested at an address that was not agreed; use one of your own AS2 server, or have it "
            "added to receiptUrls",
        )


def _check_coding(headers: Headers) -> None:
    """Refuse HTTP content codings: a document without an AS2 layer is passed on byte for byte."""
    if field_of(headers, "content-encoding").lower() not in ("", "identity"):
        raise Refused("wire.unsupported", "Send the message without Content-Encoding; AS2 has its own compression")


def _read(incoming: As2Request, service: Service, partnership: Partnership, limits: WireLimits) -> OpenedAs2Message:
    """Open the message and decode its parts; slow, so it runs off the event loop."""
    own, partner, agreement = partnership
    opened = open_message(incoming.headers, incoming.body, own, partner, agreement, limits)
    taken = decode_entity(opened.entity, limits, Format.AS2)
    wrapper = pack_wrapper(taken.wrapper) if taken.wrapper is not None else b""
    heading, mic = opened.heading, str(opened.mic)
    posting = Posting(
        message=changed(message_of(Wire((), b""), taken, limits), to=_recipients(service), handle=_handle(heading)),
        size=len(incoming.body),
        form=Format.AS2.value,
        idempotency=f"as2:{heading.message_id}",
        fingerprint=mic,
        arrival=MessageArrival(len(wrapper), taken.notes, heading.message_id, mic, opened.layers),
        wrapper=wrapper,
        trace=pack_context(field_of(incoming.headers, TRACEPARENT), field_of(incoming.headers, TRACESTATE)),
    )
    return OpenedAs2Message(opened, posting)


def _recipients(service: Service) -> tuple[Recipient, ...]:
    return (Recipient(service.as2.deliver_to),) if service.as2 is not None and service.as2.deliver_to else ()


def _handle(heading: Heading) -> str:
    return heading.message_id if len(heading.message_id) <= MAX_HANDLE else ""


def _make_mdn(
    heading: Heading, partnership: Partnership, disposition: Disposition, mic: Mic | None, about: str
) -> BuiltMdn:
    """Build an MDN; ``about`` begins with the session, from which everything that varies is derived."""
    if not partnership.own.identities:
        heading = replace(heading, wish=replace(heading.wish, signed=False))
    return build_mdn(
        heading,
        partnership.own,
        disposition=disposition,
        mic=mic,
        at=datetime.fromtimestamp(int(about[:12], 16) / 1_000, UTC),
        message_id=f"<{about}@postroad>",
        boundary_seed=about.encode(),
    )
