"""Receipts that come later for what was sent to a partner: judged like those that come at once.

Kept rules: the delivery is found by the token in the Message-ID that we gave, which only its receiver was told; what must be
confirmed is worked out anew from the stored message, so nothing is remembered in between. A receipt that proves nothing changes
nothing: the delivery goes on waiting, and the message goes out again when the agreed time is over.
"""

from __future__ import annotations

import asyncio
import logging

from postroad.core.codecs.as2 import Mdn, Outcome, Sent, Verdict, judge_mdn, names_in, read_mdn, unquoted
from postroad.core.codecs.as2.headers import Headers
from postroad.core.mediation.as2_stations import Partnership, partner_between
from postroad.core.mediation.translating import given_in
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.message import Delivered
from postroad.core.model.polling import Settlement
from postroad.errors import Refused
from postroad.flow.as2_partners import Partners
from postroad.flow.network import Network
from postroad.flow.push_as2 import built_for, receipt_as_it_came, token_in
from postroad.flow.push_attempt import caller_for

log = logging.getLogger(__name__)


class ReturnStage:
    def __init__(self, network: Network, partners: Partners) -> None:
        self._network = network
        self._partners = partners

    async def take(self, headers: Headers, body: bytes, organization: str = "") -> None:
        """Take note of a receipt. Raises Refused when it is from nobody we know or cannot be read; it is taken otherwise."""
        service, partnership = self._between(*names_in(headers), organization)
        mdn = await asyncio.to_thread(read_mdn, headers, body, partnership.partner)
        token = token_in(mdn.original_message_id)
        try:
            delivered = await self._network.waiting(token, service.gcid)
        except Refused:
            log.warning("%s sent an AS2 receipt for what it was not sent", service.address)
            return
        if delivered is None:
            log.info("%s sent an AS2 receipt for what is settled already", service.address)
            return
        soap_body = service.as2.soap_body if service.as2 is not None else ""
        verdict = await self._verdict(partnership, delivered, mdn, soap_body)
        await self._settle(service, delivered, verdict, receipt_as_it_came(headers, body))

    def _between(self, partner: str, own: str, organization: str) -> tuple[Service, Partnership]:
        """Whose receipt it is. Some products take the names in their quotation marks from the message, and quote them again."""
        if partner_between(self._network.directory, partner, own, organization) is None:
            partner, own = unquoted(partner), unquoted(own)
        return self._partners.between(self._network.directory, partner, own, organization)

    async def _verdict(self, partnership: Partnership, delivered: Delivered, mdn: Mdn, soap_body: str) -> Verdict:
        sent = await asyncio.to_thread(_sent, partnership, delivered, soap_body)
        return judge_mdn(mdn, sent)

    async def _settle(self, service: Service, delivered: Delivered, verdict: Verdict, receipt: bytes) -> None:
        number = self._network.tokens.number(delivered.token)
        if verdict.acknowledged:
            await self._network.settle(caller_for(service), Settlement(tokens=(delivered.token,)), receipt)
        elif verdict.outcome is Outcome.REJECTED and number is not None:
            await self._network.ending.fail(number, verdict.reason)
        else:
            log.warning("an AS2 receipt from %s does not count: %s", service.address, verdict.reason)


def _sent(partnership: Partnership, delivered: Delivered, soap_body: str) -> Sent:
    """What was sent for the delivery; the secret bytes that encrypting takes do not matter to it."""
    given = given_in(delivered, Format.AS2, soap_body)
    return built_for(partnership, delivered, given, delivered.posted_at_us, bytes).sent
