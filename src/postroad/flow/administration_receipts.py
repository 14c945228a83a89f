"""The receipt by which a receiver has proven that it has a message, as it came: for disputes, and for those who see that stop."""

from __future__ import annotations

from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import DeliveriesAcknowledged, decode
from postroad.core.projection.queries import QUERIES
from postroad.errors import Refused
from postroad.flow.administration import not_found
from postroad.flow.administration_contents import at_stop
from postroad.flow.network import Network
from postroad.ports import BodyAt

COLUMNS = QUERIES["transaction_deliveries"][1]
NUMBER, SETTLED_BY = COLUMNS.index("number"), COLUMNS.index("settle_seq")


async def receipt_at_stop(network: Network, caller: Caller, session: str, delivery: int) -> bytes:
    """Raises Refused where there is none, where it is not the caller's to see, or where it is no longer kept."""
    stop = (await at_stop(network, caller, session, delivery)).stop
    at = await _place(network, stop) if stop is not None else None
    if at is None:
        raise not_found()
    receipt = await network.journal.body(at)
    if receipt is None:
        raise Refused("body.dropped", "The receipt for this message is no longer kept; its history still is")
    return receipt


async def _place(network: Network, stop: Queued) -> BodyAt | None:
    """Where the receipt lies: with the acknowledgement. What an answer brought along is the answer's own."""
    rows = await network.index.query("transaction_deliveries", stop.message.transaction)
    seq = next((row[SETTLED_BY] for row in rows if row[NUMBER] == stop.number), 0)
    records = (await network.journal.read(seq - 1, 1)).records if seq else []
    is_receipt = bool(records) and isinstance(decode(records[0].facts), DeliveriesAcknowledged)
    return records[0].body if is_receipt else None
