"""What entries say of deliveries, in a word and with details, for the history of a transaction."""

from __future__ import annotations

from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
)

# After these a delivery goes on waiting.
Move = DeliveriesLeased | DeliveriesReturned | DeliveryAttempted | BatchesChanged


def taken(entry: DeliveriesAcknowledged) -> tuple[str, str]:
    """How deliveries came to their end, and the details: a batcher has those sent that it has gathered."""
    if entry.batch is None:
        return "acknowledged", ""
    return "sent", f"in interchange {entry.batch.interchange} of batch {entry.batch.id}"


def move(entry: Move) -> tuple[str, str]:
    """What happened to deliveries that go on waiting, and the details."""
    if isinstance(entry, BatchesChanged):
        return "gathered", f"in batch {entry.batch}"
    if isinstance(entry, DeliveriesLeased):
        return "handed out", f"leased for {entry.lease_s:g} s"
    later = f"again in {entry.delay_s:g} s" if entry.delay_s else "again at once"
    if isinstance(entry, DeliveryAttempted):
        what = "pushed" if 200 <= entry.status < 300 else "push failed"  # taken, and its receipt is still to come
        return what, f"{entry.fault}, after {entry.duration_ms} ms; {later}"
    return "given back", f"{entry.reason or 'no reason given'}; {later}"


def until_us(entry: Move) -> int:
    if isinstance(entry, BatchesChanged):
        return 0
    waits_s = entry.lease_s if isinstance(entry, DeliveriesLeased) else entry.delay_s
    return entry.at_us + int(waits_s * 1_000_000)
