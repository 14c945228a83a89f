"""Describes journal entries about deliveries for a history: a word, details, and a time limit."""

from __future__ import annotations

from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
)

# After these a delivery goes on waiting.
WaitingEntry = DeliveriesLeased | DeliveriesReturned | DeliveryAttempted | BatchesChanged


def describe_acknowledgement(entry: DeliveriesAcknowledged) -> tuple[str, str]:
    """Describe how deliveries were acknowledged: by their receiver, or sent by a batcher in an interchange."""
    if entry.batch is None:
        return "acknowledged", ""
    return "sent", f"in interchange {entry.batch.interchange} of batch {entry.batch.id}"


def describe_wait(entry: WaitingEntry) -> tuple[str, str]:
    """Describe an entry after which deliveries continue to wait, as a word and details."""
    if isinstance(entry, BatchesChanged):
        return "gathered", f"in batch {entry.batch}"
    if isinstance(entry, DeliveriesLeased):
        return "handed out", f"leased for {entry.lease_s:g} s"
    later = f"again in {entry.delay_s:g} s" if entry.delay_s else "again at once"
    if isinstance(entry, DeliveryAttempted):
        what = "pushed" if 200 <= entry.status < 300 else "push failed"  # taken, and its receipt is still to come
        return what, f"{entry.fault}, after {entry.duration_ms} ms; {later}"
    return "given back", f"{entry.reason or 'no reason given'}; {later}"


def waits_until_us(entry: WaitingEntry) -> int:
    if isinstance(entry, BatchesChanged):
        return 0
    waits_s = entry.lease_s if isinstance(entry, DeliveriesLeased) else entry.delay_s
    return entry.at_us + int(waits_s * 1_000_000)
