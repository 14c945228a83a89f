"""Provisioning service of the network: providers confirm or revoke, and services register cookies.

The topic selects the operation. Arguments are those of the message:

* ``provisioning.confirm``: ``GCID`` and ``token`` as the provider's page received them; to store a cookie, the document
  that ``cookie`` names by its id (optional if there is only one document).
* ``provisioning.revoke``: ``GCID``.
* ``cookie.register``: ``GCID`` of a sender, and the document as above; without one the cookie is removed.

An answer without a status reports success. Rule: the sender, as the network has authenticated it, acts only for
itself.
"""

from __future__ import annotations

from postroad.core.model.directory import Service
from postroad.core.model.message import Cookie, Delivered
from postroad.errors import Refused
from postroad.services.arguments import Arguments
from postroad.services.service import ServiceResult, Tools

CONFIRM, REVOKE, REGISTER = "provisioning.confirm", "provisioning.revoke", "cookie.register"
TOPICS = (CONFIRM, REVOKE, REGISTER)


class ProvisioningService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        sender = tools.directory.services.get(message.sender_gcid)
        if sender is None or message.in_transit:
            raise Refused("route.invalid", "Post this to the network's own service yourself, as a request")
        arguments = Arguments(message.arguments)
        match message.topic:
            case topic if topic == CONFIRM:
                token = arguments.require("token")
                cookie = _cookie(message, arguments)
                await tools.trust.confirm(sender, arguments.require("GCID"), token, cookie, said_in=message.session)
            case topic if topic == REVOKE:
                gcid = arguments.require("GCID")
                await tools.trust.revoke(sender.gcid, gcid, (sender.gcid,), said_in=message.session)
            case topic if topic == REGISTER:
                await self._register(sender, message, arguments, tools)
            case _:
                known = ", ".join(TOPICS)
                raise Refused("value.invalid", f"The topic must be one of {known}", pointer="/topic")
        return ServiceResult(parts=())

    async def _register(self, sender: Service, message: Delivered, arguments: Arguments, tools: Tools) -> None:
        cookie = _cookie(message, arguments)
        await tools.trust.register_cookie(sender.gcid, sender, arguments.require("GCID"), cookie)


def _cookie(message: Delivered, arguments: Arguments) -> Cookie | None:
    """Return the document to store as the cookie."""
    named = arguments.get("cookie", "")
    documents = [part for part in message.parts if not named or part.id == named]
    if not documents and not named:
        return None
    if len(documents) != 1:
        raise Refused(
            "value.invalid", "Set the argument cookie to the ID of the document with the cookie", pointer="/documents"
        )
    try:
        return Cookie(documents[0].data.decode(), documents[0].content_type)
    except UnicodeDecodeError:
        raise Refused("cookie.invalid", "A cookie is text or XML in UTF-8", pointer="/documents") from None
