"""AS2, started with the network: our side of every agreement, and the reception for what partners send."""

from __future__ import annotations

from contextlib import AsyncExitStack
from urllib.parse import quote

from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.pushing import operators_secrets
from postroad.bootstrap.settings import Settings
from postroad.core.codecs.limits import WireLimits
from postroad.flow.as2_partners import Partners
from postroad.flow.as2_receipts import ReceiptPost
from postroad.flow.as2_receive import ReceiveStage
from postroad.flow.as2_reception import Reception
from postroad.flow.as2_returned import ReturnStage
from postroad.flow.network import Network
from postroad.ports import Pusher

PATH = "/as2"  # for all organizations; each has its own below it


def as2_partners(settings: Settings, own_address: OwnAddress) -> Partners:
    return Partners(operators_secrets(settings), lambda service: as2_url(own_address, service.organization))


def as2_url(own_address: OwnAddress, organization: str) -> str:
    """The URL at which the AS2 partners of an organization reach it."""
    return f"{own_address.url}{PATH}/{quote(organization, safe='')}"


def receive_as2(
    settings: Settings, network: Network, partners: Partners, pusher: Pusher, stack: AsyncExitStack
) -> Reception:
    """The reception, which ends with the stack."""
    receiving = ReceiveStage(network, partners, WireLimits(body_bytes=settings.message_bytes))
    returned = ReturnStage(network, partners)
    reception = Reception(receiving, ReceiptPost(pusher, settings.push_timeout_s), returned)
    stack.push_async_callback(reception.close)
    return reception
