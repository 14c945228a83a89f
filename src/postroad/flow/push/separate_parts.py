"""Messages to an AS2 partner that accepts one part per AS2 message: each part is sent separately.

The service that represents the partner forwards every part to itself, and the delivery is settled when all parts are
stored. So each part has its own Message-ID, its own MDN and its own retries. Rules: this is for notifications only,
since a request has one response. A delivery that is offered again after an interruption forwards nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from postroad.core.delivery.reasons import make_reason, reason_text
from postroad.core.mediation.formats import outgoing_of
from postroad.core.mediation.soap_part import payloads
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, MessageType, Part
from postroad.core.model.polling import Settlement
from postroad.core.model.reason import Reason
from postroad.core.routing.forward import Forward
from postroad.flow.network import Network


def list_separate_parts(service: Service, delivered: Delivered) -> Sequence[Part]:
    """Return the parts to send separately; empty if the message is sent as a whole."""
    as2 = service.as2
    if as2 is None or not as2.message_per_part or len(delivered.parts) < 2:
        return ()
    if delivered.in_transit or delivered.type is not MessageType.NOTIFICATION:
        return ()
    parts = payloads(outgoing_of(delivered), as2.soap_body)
    return parts if len(parts) > 1 else ()


async def send_parts_separately(
    network: Network, caller: Caller, delivered: Delivered, parts: Sequence[Part]
) -> Reason | None:
    """Forward each part to the service itself and settle the delivery; returns the error, or None."""
    forwards = [
        Forward(delivered.recipient_gcid, f"part {number}", replace(part, attachment=False), alone=True)
        for number, part in enumerate(parts, 1)
    ]
    onward = await network.forward(caller, delivered, forwards)
    if onward.faults:
        return make_reason("push.parts", detail=reason_text(onward.faults[0][1]))
    await network.settle(caller, Settlement(tokens=(delivered.token,)))
    return None
