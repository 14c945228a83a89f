"""All that comes to the network's AS2 address: messages from partners, and receipts for what they were sent.

``as2_receive``   a message is opened, posted and answered with a receipt
``as2_receipts``  receipts that a partner wants to have later are posted to it
``as2_returned``  a receipt for what we sent is judged, and ends the wait for it
"""

from __future__ import annotations

import asyncio

from postroad.core.codecs.as2 import BuiltMdn, is_mdn
from postroad.core.codecs.as2.headers import field_of
from postroad.core.codecs.media import media_type_of
from postroad.flow.as2_receipts import ReceiptPost
from postroad.flow.as2_receive import Incoming, ReceiveStage
from postroad.flow.as2_returned import ReturnStage


class Reception:
    def __init__(self, receiving: ReceiveStage, receipts: ReceiptPost, returned: ReturnStage) -> None:
        self._receiving = receiving
        self._receipts = receipts
        self._returned = returned

    async def take(self, incoming: Incoming) -> BuiltMdn | None:
        """What the request is answered with; None: nothing but that it was taken. Raises Refused where only HTTP can say it."""
        if await _is_receipt(incoming):
            await self._returned.take(incoming.headers, incoming.body, incoming.organization)
            return None
        receipt = await self._receiving.receive(incoming)
        if receipt is None or not receipt.url:
            return receipt.mdn if receipt is not None else None
        self._receipts.send(receipt.url, receipt.mdn, insists=receipt.is_proven)
        return None

    async def close(self) -> None:
        await self._receipts.close()


async def _is_receipt(incoming: Incoming) -> bool:
    """Looked at off the loop where all of the body must be read for it: a message that is signed alone may be large."""
    if media_type_of(field_of(incoming.headers, "content-type")) != "multipart/signed":
        return is_mdn(incoming.headers, incoming.body)
    return await asyncio.to_thread(is_mdn, incoming.headers, incoming.body)
