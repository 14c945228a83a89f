"""The purchase-order scenario over HTTP: orders in JSON and SOAP, a confirmation, and a rejected sender.

Everything goes over real HTTP, as it would from other machines; the demo is therefore a test as well.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from postroad.cli.demo.soap_client import SoapClient
from postroad.client import AsyncClient, Delivered, Part, message
from postroad.core.model.message import MessageType
from postroad.errors import Unavailable

SCENARIO_FOLDER = Path(str(files("postroad.cli.demo.purchase_order")))
BUYER, SELLER, UNWELCOME = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "SpamCo/Offers"
CROSS_REFERENCE = "Transmatics/replaceElement"
CUSTOMER, CUSTOMER_AT_SELLER = "3489", "BX0045012"
CONFIRMATION = '<PurchaseOrderConfirmation status="accepted" shipping="2 days"/>'
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedMessage:
    """One message of the scenario: its session, and its answer."""

    session: str
    answer: Delivered

    @property
    def answered(self) -> str:
        status = self.answer.status
        return f"{status.code}: {status.text}" if status is not None else self.answer.parts[0].data.decode()


def read_order() -> bytes:
    return (SCENARIO_FOLDER / "purchase-order.xml").read_bytes()


async def confirm_orders(seller: AsyncClient) -> None:
    """Acme's application: receive orders and confirm them, until cancelled."""
    while True:
        for request in await seller.poll(wait_s=PATIENCE_S):
            if request.type is MessageType.REQUEST:
                await seller.reply(request, CONFIRMATION)
            else:
                await seller.acknowledge(request)


async def register_customer(buyer: AsyncClient) -> None:
    """Register MyBiz's customer number at Acme in the cross-reference."""
    arguments = {
        "operation": "relate", "map": "customers", "keyName": "CustomerNumber", "keyValue": CUSTOMER,
        "otherService": SELLER, "otherKeyName": "CustomerNumber", "otherKeyValue": CUSTOMER_AT_SELLER,
    }  # fmt: skip
    posted = await buyer.post(to=CROSS_REFERENCE, type="request", arguments=arguments)
    answer = await wait_for_answer(buyer, posted.transaction)
    if answer.status is not None:
        raise Unavailable("demo.incomplete", f"The cross-reference responded {answer.status.code} {answer.status.text}")


async def send_order(sender: AsyncClient) -> PlayedMessage:
    """Send the order as a request in JSON, and return its answer."""
    posted = await sender.post(
        to=SELLER, type="request", topic="purchase-order", handle="PO-1001", document=read_order(),
        arguments={"operation": "ProcessPurchaseOrder"},
    )  # fmt: skip
    return PlayedMessage(session=posted.session, answer=await wait_for_answer(sender, posted.transaction))


async def send_order_by_soap(sender: SoapClient) -> PlayedMessage:
    """Send the order as a request in SOAP, and return its answer."""
    part = Part(id="1", content_type="application/xml", data=read_order())
    posted = await sender.post(
        message(to=SELLER, type="request", topic="purchase-order", handle="PO-1001", document=part)
    )
    return PlayedMessage(session=posted.session, answer=await wait_for_answer(sender, posted.transaction))


async def wait_for_answer(receiver: AsyncClient | SoapClient, transaction: str) -> Delivered:
    """Wait for the answer of this transaction; acknowledges it and any older messages."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for delivered in await receiver.poll(1, wait_s=PATIENCE_S):
            await receiver.acknowledge(delivered)
            if delivered.transaction == transaction:
                return delivered
    raise Unavailable("demo.incomplete", "No response arrived; remove the demo's folder and try again")


async def raise_if_ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
