"""Push to AS2 partners: build the message by the partnership, and judge the MDN.

Rules: every attempt has the same Message-ID, so that a partner accepts the message once. The Message-ID contains the
delivery's token, so that a later MDN can be matched. If an MDN was agreed on, a 2xx status alone is no success.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from postroad.core.codecs.as2 import (
    BuiltMessage,
    MdnOutcome,
    MdnVerdict,
    SentMessage,
    build,
    is_mdn,
    judge_mdn,
    read_mdn,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.mime import write_head
from postroad.core.delivery.push_endpoints import PushTarget
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import make_reason
from postroad.core.mediation.as2_partnerships import Partnership
from postroad.core.mediation.model import EncodedMessage
from postroad.core.model.directory import Push, PushAuthentication, Service
from postroad.core.model.message import Delivered
from postroad.core.model.reason import Reason
from postroad.errors import Misconfigured, Refused
from postroad.flow.log_fields import describe_service
from postroad.flow.push.request import build_proven_request, build_trace_headers, build_webhook_id
from postroad.flow.registries.as2_partners import As2Partners
from postroad.flow.stages.mediate import HandedDelivery
from postroad.ports import Clock, Pusher, Randomness, Secrets

DOMAIN = "postroad"
MAX_SUBJECT = 200
BINARY = b"Content-Transfer-Encoding: binary\r\n"  # or some products change line ends before they look at signatures
MAX_WARNING = 200
KEPT = frozenset(
    ("as2-version", "as2-from", "as2-to", "message-id", "date", "subject", "mime-version", "content-type",
     "content-transfer-encoding", "content-disposition")
)  # fmt: skip
_LINE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_MESSAGE_ID = re.compile(r"<?([0-9a-f.]+)@postroad>?")


log = logging.getLogger(__name__)


def build_message_id(delivered: Delivered) -> str:
    """Return the Message-ID, which contains the delivery's token."""
    return f"<{delivered.token}@{DOMAIN}>"


def parse_token(message_id: str) -> str:
    """Return the delivery token in a Message-ID; '' if it is not one of ours."""
    found = _MESSAGE_ID.fullmatch(message_id.strip())
    return found[1] if found else ""


class As2Pusher:
    """Makes AS2 push attempts."""

    def __init__(
        self,
        partners: As2Partners,
        pusher: Pusher,
        secrets: Secrets,
        clock: Clock,
        randomness: Randomness,
        timeout_s: float,
    ) -> None:
        self._partners = partners
        self._pusher = pusher
        self._secrets = secrets
        self._clock = clock
        self._randomness = randomness
        self._timeout_s = timeout_s

    async def push(self, service: Service, target: PushTarget, handed: HandedDelivery) -> PushAnswer:
        """Make one attempt; raises Misconfigured if our key or the profile is incomplete."""
        await self._secrets.prepare(service)
        partnership = self._partners.of(service)
        if target.attempt > target.tries:
            return PushAnswer(status=None, fault=make_reason("as2.no-receipt", count=target.tries), final=True)
        if handed.given is None:
            raise Misconfigured(["The message is not in the AS2 format"])
        try:
            built = await asyncio.to_thread(
                build_as2_message,
                partnership,
                handed.delivered,
                handed.given,
                self._clock.now_us(),
                self._randomness.bytes,
            )
        except Refused as refusal:
            return PushAnswer(status=None, fault=make_reason("as2.message", detail=refusal))
        headers = self._headers(target.push, handed, built)
        request = build_proven_request(service, target.push, self._secrets, headers, built.body, self._timeout_s)
        awaited, token, waits_s = self._partners.awaited, handed.delivered.token, 0.0
        awaited.begin(token)
        try:
            answer = await self._pusher.push(request)
            if answer.status is not None and 200 <= answer.status < 300:
                answer = await asyncio.to_thread(_judged, service, partnership, built.sent, answer)
                waits_s = answer.waits_s
        finally:
            if waits_s:
                awaited.wait(token, self._clock.monotonic(), waits_s)
            else:
                awaited.end(token)
        return answer

    def _headers(self, push: Push, handed: HandedDelivery, built: BuiltMessage) -> dict[str, str]:
        headers = {name.lower(): value for name, value in built.headers} | build_trace_headers(handed.delivered)
        if push.authentication is PushAuthentication.SIGNATURE:
            seconds = self._clock.now_us() // 1_000_000
            headers |= {"webhook-id": build_webhook_id(handed.delivered), "webhook-timestamp": str(seconds)}
        return headers


def build_as2_message(
    partnership: Partnership,
    delivered: Delivered,
    given: EncodedMessage,
    now_us: int,
    randomness: Callable[[int], bytes],
) -> BuiltMessage:
    """Build the AS2 message; the part that its MDN confirms is the same each time. Slow: runs off the event loop."""
    own, partner, agreement = partnership
    return build(
        given.head or given.entity_head + BINARY,
        given.body,
        own,
        partner,
        agreement,
        message_id=build_message_id(delivered),
        at=datetime.fromtimestamp(now_us / 1_000_000, UTC),
        subject=_CONTROL.sub(" ", delivered.topic[:MAX_SUBJECT]).strip(),
        boundary_seed=delivered.token.encode(),
        randomness=randomness,
    )


def _judged(service: Service, partnership: Partnership, sent: SentMessage, answer: PushAnswer) -> PushAnswer:
    """Return what a 2xx answer means under the partnership."""
    taken = PushAnswer(status=answer.status)
    if partnership.agreement.mdn == "none":
        return taken
    comes_later = partnership.agreement.mdn == "async" and not is_mdn(answer.headers, answer.body)
    if comes_later:  # some partners answer at once all the same
        waits_s = float(service.as2.mdn_timeout_s) if service.as2 is not None else 0.0
        return replace(taken, fault=make_reason("as2.waiting"), waits_s=waits_s)
    try:
        mdn = read_mdn(answer.headers, answer.body, partnership.partner)
    except Refused as refusal:
        return PushAnswer(status=None, fault=make_reason("as2.receipt-missing", detail=refusal.detail))
    receipt = encode_mdn(answer.headers, answer.body)
    return _answer_of(service, judge_mdn(mdn, sent), replace(taken, receipt=receipt))


def encode_mdn(headers: Headers, body: bytes) -> bytes:
    """Return the MDN for the audit trail: its own headers, an empty line and every body byte."""
    lines = [(name, value) for name, value in headers if name.lower() in KEPT and _LINE.fullmatch(value)]
    return write_head(lines) + b"\r\n" + body


def _answer_of(service: Service, verdict: MdnVerdict, taken: PushAnswer) -> PushAnswer:
    if verdict.acknowledged:
        if verdict.reason:
            log.warning(
                "as2.partner_warning: %s took an AS2 message and warns: %s",
                service.address,
                verdict.reason[:MAX_WARNING],
                extra=describe_service(service),
            )
        return taken
    return PushAnswer(status=None, fault=make_verdict_reason(verdict), final=verdict.outcome is MdnOutcome.REJECTED)


def make_verdict_reason(verdict: MdnVerdict) -> Reason:
    """Return the reason for which an MDN is no acknowledgment."""
    return make_reason(f"as2.{verdict.outcome.value}", detail=verdict.reason)
