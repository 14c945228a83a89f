"""The play: MyBiz orders over JSON and over SOAP, Acme confirms, and somebody whom Acme does not want to hear from is stopped.

Everything goes over real HTTP, as it would from other machines; the demo is therefore a test as well.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from postroad.cli.purchase_order.soap import SoapClient
from postroad.client import AsyncClient, Delivered, Part, message
from postroad.core.model.message import MessageType
from postroad.errors import Unavailable

SCENE = Path(str(files("postroad.cli.purchase_order")))
BUYER, SELLER, UNWELCOME = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "SpamCo/Offers"
CROSS_REFERENCE = "Transmatics/replaceElement"
CUSTOMER, CUSTOMER_AT_SELLER = "3489", "BX0045012"
CONFIRMATION = '<PurchaseOrderConfirmation status="accepted" shipping="2 days"/>'
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One message of the play: its session, and how it was answered."""

    session: str
    answer: Delivered

    @property
    def answered(self) -> str:
        status = self.answer.status
        return f"{status.code}: {status.text}" if status is not None else self.answer.parts[0].data.decode()


def order() -> bytes:
    return (SCENE / "purchase-order.xml").read_bytes()


async def confirm_orders(seller: AsyncClient) -> None:
    """Acme's application: takes what comes, for as long as it runs, and confirms it."""
    while True:
        for request in await seller.poll(wait_s=PATIENCE_S):
            if request.type is MessageType.REQUEST:
                await seller.reply(request, CONFIRMATION)
            else:
                await seller.acknowledge(request)


async def introduced(buyer: AsyncClient) -> None:
    """MyBiz tells the cross-reference which customer it is with Acme."""
    arguments = {
        "operation": "relate", "map": "customers", "keyName": "CustomerNumber", "keyValue": CUSTOMER,
        "otherService": SELLER, "otherKeyName": "CustomerNumber", "otherKeyValue": CUSTOMER_AT_SELLER,
    }  # fmt: skip
    posted = await buyer.post(to=CROSS_REFERENCE, type="request", arguments=arguments)
    answer = await arrived(buyer, posted.transaction)
    if answer.status is not None:
        raise Unavailable("demo.incomplete", f"The cross-reference answered {answer.status.code} {answer.status.text}")


async def ordered(sender: AsyncClient) -> Played:
    """A request in JSON, and its answer."""
    posted = await sender.post(
        to=SELLER, type="request", topic="purchase-order", handle="PO-1001", document=order(),
        arguments={"operation": "ProcessPurchaseOrder"},
    )  # fmt: skip
    return Played(session=posted.session, answer=await arrived(sender, posted.transaction))


async def ordered_by_soap(sender: SoapClient) -> Played:
    """The same in SOAP, both ways."""
    part = Part(id="1", content_type="application/xml", data=order())
    posted = await sender.post(
        message(to=SELLER, type="request", topic="purchase-order", handle="PO-1001", document=part)
    )
    return Played(session=posted.session, answer=await arrived(sender, posted.transaction))


async def arrived(receiver: AsyncClient | SoapClient, transaction: str) -> Delivered:
    """The answer of this transaction, acknowledged; others, which an earlier run may have left, are acknowledged as well."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for delivered in await receiver.poll(1, wait_s=PATIENCE_S):
            await receiver.acknowledge(delivered)
            if delivered.transaction == transaction:
                return delivered
    raise Unavailable("demo.incomplete", "The answer did not come; remove the demo's folder and try again")


async def gone(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
