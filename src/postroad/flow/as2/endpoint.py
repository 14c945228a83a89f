"""The network's AS2 endpoint: incoming messages, and MDNs for messages that were sent.

``receive``       receives a message, posts it and answers it with an MDN
``send_mdns``     posts asynchronous MDNs to partners
``receive_mdns``  verifies an MDN for a message that we sent, and ends the wait for it
"""

from __future__ import annotations

import asyncio

from postroad.core.codecs.as2 import BuiltMdn, is_mdn
from postroad.core.codecs.as2.headers import field_of
from postroad.core.codecs.media import media_type_of
from postroad.flow.as2.receive import As2ReceiveStage, As2Request
from postroad.flow.as2.receive_mdns import MdnReceiver
from postroad.flow.as2.send_mdns import MdnSender


class As2Gateway:
    """Passes each request at the AS2 URL to the stage for messages or to the one for MDNs."""

    def __init__(self, receiving: As2ReceiveStage, mdn_sender: MdnSender, returned: MdnReceiver) -> None:
        self._receiving = receiving
        self._mdn_sender = mdn_sender
        self._mdns = returned

    async def receive(self, incoming: As2Request) -> BuiltMdn | None:
        """Return the MDN for the HTTP response, or None for an empty one; raises Refused if only HTTP can report it."""
        if await _is_mdn(incoming):
            await self._mdns.receive(incoming.headers, incoming.body, incoming.organization)
            return None
        reply = await self._receiving.receive(incoming)
        if reply is None or not reply.url:
            return reply.mdn if reply is not None else None
        self._mdn_sender.send(reply.url, reply.mdn, insists=reply.is_proven)
        return None

    async def close(self) -> None:
        await self._mdn_sender.close()


async def _is_mdn(incoming: As2Request) -> bool:
    """Whether the request is an MDN; decided off the event loop where the whole body must be read."""
    if media_type_of(field_of(incoming.headers, "content-type")) != "multipart/signed":
        return is_mdn(incoming.headers, incoming.body)
    return await asyncio.to_thread(is_mdn, incoming.headers, incoming.body)
