"""Asynchronous MDNs from partners: verify them and settle the delivery they confirm.

Rules: the delivery is found by the token in the Message-ID that we generated, which only its receiver knows. What the
MDN must confirm is computed again from the stored message, so no state is kept in between. An invalid MDN changes
nothing: the delivery keeps waiting, and the message is sent again when the agreed time is over.
"""

from __future__ import annotations

import asyncio
import logging

from postroad.core.codecs.as2 import (
    Mdn,
    MdnOutcome,
    MdnVerdict,
    SentMessage,
    judge_mdn,
    read_mdn,
    read_names,
    unquote_name,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.core.mediation.as2_partnerships import Partnership, partner_between
from postroad.core.mediation.formats import encode_delivery
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.message import Delivered
from postroad.core.model.polling import Settlement
from postroad.errors import Refused
from postroad.flow.log_fields import describe_delivery, describe_service
from postroad.flow.network import Network
from postroad.flow.push.as2 import build_as2_message, encode_mdn, make_verdict_reason, parse_token
from postroad.flow.push.attempt import make_receiver_caller
from postroad.flow.registries.as2_partners import As2Partners

DISPOSITIONS = {  # as the metrics label them
    MdnOutcome.ACKNOWLEDGED: "processed",
    MdnOutcome.REJECTED: "failure",
    MdnOutcome.ALTERED: "error",
    MdnOutcome.UNPROVEN: "error",
}

log = logging.getLogger(__name__)


class MdnReceiver:
    """Verifies MDNs that arrive after the message was sent."""

    def __init__(self, network: Network, partners: As2Partners) -> None:
        self._network = network
        self._partners = partners
        self._mdns = network.metrics.counters("mdns_total")

    async def receive(self, headers: Headers, body: bytes, organization: str = "") -> None:
        """Process an MDN; raises Refused if its sender is unknown or it cannot be read."""
        service, partnership = await self._between(*read_names(headers), organization)
        mdn = await asyncio.to_thread(read_mdn, headers, body, partnership.partner)
        token = parse_token(mdn.original_message_id)
        try:
            delivered = await self._network.find_waiting(token, service.gcid)
        except Refused:
            log.warning(
                "as2.mdn_unmatched: %s sent an MDN for what it was not sent",
                service.address,
                extra=describe_service(service),
            )
            return
        if delivered is None:
            log.info(
                "as2.mdn_late: %s sent an MDN for what is settled already",
                service.address,
                extra=describe_service(service),
            )
            return
        soap_body = service.as2.soap_body if service.as2 is not None else ""
        verdict = await self._verdict(partnership, delivered, mdn, soap_body)
        self._mdns.of("received", DISPOSITIONS[verdict.outcome]).value += 1
        await self._settle(service, delivered, verdict, encode_mdn(headers, body))

    async def _between(self, partner: str, own: str, organization: str) -> tuple[Service, Partnership]:
        """Find the service that the MDN is from; some products quote the AS2 names twice."""
        if partner_between(self._network.directory, partner, own, organization) is None:
            partner, own = unquote_name(partner), unquote_name(own)
        return await self._partners.find(self._network.directory, partner, own, organization)

    async def _verdict(self, partnership: Partnership, delivered: Delivered, mdn: Mdn, soap_body: str) -> MdnVerdict:
        sent = await asyncio.to_thread(_sent, partnership, delivered, soap_body)
        return judge_mdn(mdn, sent)

    async def _settle(self, service: Service, delivered: Delivered, verdict: MdnVerdict, receipt: bytes) -> None:
        if verdict.acknowledged or verdict.outcome is MdnOutcome.REJECTED:
            self._partners.awaited.end(delivered.token)
        if verdict.acknowledged:
            await self._network.settle(make_receiver_caller(service), Settlement(tokens=(delivered.token,)), receipt)
        elif verdict.outcome is MdnOutcome.REJECTED:
            await self._network.fail(delivered, make_verdict_reason(verdict))
        else:
            log.warning(
                "as2.mdn_rejected: an MDN from %s does not count: %s",
                service.address,
                verdict.reason,
                extra=describe_delivery(service, delivered),
            )


def _sent(partnership: Partnership, delivered: Delivered, soap_body: str) -> SentMessage:
    """Rebuild what was sent for the delivery; the random bytes used for encryption do not affect the result."""
    given = encode_delivery(delivered, Format.AS2, soap_body)
    return build_as2_message(partnership, delivered, given, delivered.posted_at_us, bytes).sent
