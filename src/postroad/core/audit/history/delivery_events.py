"""Describes journal entries about deliveries for a history: a word, details, and a time limit."""

from __future__ import annotations

from typing import NamedTuple

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


class WaitText(NamedTuple):
    """An entry after which deliveries continue to wait: a word, details, and of a failed attempt the reason alone."""

    what: str
    detail: str
    why: str = ""


def describe_wait(entry: WaitingEntry) -> WaitText:
    """Describe an entry after which deliveries continue to wait."""
    if isinstance(entry, BatchesChanged):
        return WaitText("gathered", f"in batch {entry.batch}")
    if isinstance(entry, DeliveriesLeased):
        return WaitText("handed out", f"leased for {entry.lease_s:g} s")
    later = f"again in {entry.delay_s:g} s" if entry.delay_s else "again at once"
    if isinstance(entry, DeliveryAttempted):
        what = "push failed" if entry.is_put_off else "pushed"  # accepted, and its MDN is still missing
        why = f"{entry.fault}, after {entry.duration_ms} ms"
    else:
        what, why = "given back", entry.reason or "no reason given"
    return WaitText(what, f"{why}; {later}", why)


def waits_until_us(entry: WaitingEntry) -> int:
    if isinstance(entry, BatchesChanged):
        return 0
    waits_s = entry.lease_s if isinstance(entry, DeliveriesLeased) else entry.delay_s
    return entry.at_us + int(waits_s * 1_000_000)
