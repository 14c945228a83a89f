"""Start AS2: our side of each partnership, and the endpoint for partners."""

from __future__ import annotations

from contextlib import AsyncExitStack
from urllib.parse import quote

from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.settings import Settings
from postroad.core.codecs.limits import WireLimits
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.as2.receive import As2ReceiveStage
from postroad.flow.as2.receive_mdns import MdnReceiver
from postroad.flow.as2.send_mdns import MdnSender
from postroad.flow.network import Network
from postroad.flow.registries.as2_partners import As2Partners
from postroad.ports import Pusher, Secrets

PATH = "/as2"  # for all organizations; each has its own below it


def build_as2_partners(secrets: Secrets, own_address: OwnAddress) -> As2Partners:
    return As2Partners(secrets, lambda service: build_as2_url(own_address, service.organization))


def build_as2_url(own_address: OwnAddress, organization: str) -> str:
    """Return the URL at which the AS2 partners of an organization reach it."""
    return f"{own_address.url}{PATH}/{quote(organization, safe='')}"


def open_as2_endpoint(
    settings: Settings, network: Network, partners: As2Partners, pusher: Pusher, stack: AsyncExitStack
) -> As2Gateway:
    """Open the AS2 endpoint, which is closed with the stack."""
    receiving = As2ReceiveStage(network, partners, WireLimits(body_bytes=settings.message_bytes))
    returned = MdnReceiver(network, partners)
    reception = As2Gateway(receiving, MdnSender(pusher, settings.push_timeout_s), returned)
    stack.push_async_callback(reception.close)
    waiting = network.metrics.gauge("mdns_waiting")
    network.metrics.on_read(lambda: waiting.set(partners.awaited.count(network.clock.monotonic())))
    return reception
