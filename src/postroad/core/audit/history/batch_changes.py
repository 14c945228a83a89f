"""The changes of a batch, listed from the journal entries that made them.

Rule: the list is made only from entries. Consecutive additions of messages are one line.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from postroad.core.codecs.lexical import write_time
from postroad.core.model.batch import BatchState
from postroad.core.model.journal import BatchesChanged, DeliveriesAcknowledged, DeliveriesEnded, Entry, MessagePosted
from postroad.core.model.snapshot import Directory
from postroad.core.resources.batches import BatchChangeView

JOINED = "joined"


def list_batch_changes(batch: str, entries: Iterable[Entry], directory: Directory) -> list[BatchChangeView]:
    """List what these entries, oldest first, did to the batch with this ID."""
    told: list[BatchChangeView] = []
    for entry in entries:
        change = _change(batch, entry)
        if change is None:
            continue
        change = replace(change, by=_named(change.by, directory))
        if told and told[-1].what == change.what == JOINED:
            told[-1] = replace(change, messages=told[-1].messages + change.messages)
        else:
            told.append(change)
    return told


def _change(batch: str, entry: Entry) -> BatchChangeView | None:
    match entry:
        case BatchesChanged():
            return _changed(batch, entry)
        case MessagePosted():
            return BatchChangeView(
                at=write_time(entry.at_us), what="assembled", by=entry.sender, detail=f"in interchange {entry.session}"
            )
        case DeliveriesAcknowledged():
            return BatchChangeView(at=write_time(entry.at_us), what="sent", by=entry.by, messages=len(entry.deliveries))
        case DeliveriesEnded(batch=after) if after is not None:
            what = "dropped" if after.state is BatchState.DROPPED else "left"
            return BatchChangeView(
                at=write_time(entry.at_us), what=what, by=entry.by, detail=entry.reason, messages=len(entry.deliveries)
            )
    return None


def _changed(batch: str, entry: BatchesChanged) -> BatchChangeView:
    """Return the change one entry made to this batch; an entry may change a second batch that it closed or suspended."""
    after = next((one for one in entry.batches if one.id == batch), None)
    if entry.batch and entry.batch != batch:
        why = after.why if after is not None else ""
        what = "suspended" if after is not None and after.state is BatchState.SUSPENDED else "closed"
        return BatchChangeView(at=write_time(entry.at_us), what=what, by=entry.by, detail=why)
    has_closed = after is not None and after.state is not BatchState.OPEN
    why = after.why if after is not None and has_closed and not entry.reason else entry.reason
    return BatchChangeView(
        at=write_time(entry.at_us), what=entry.what, by=entry.by, detail=why, messages=len(entry.joined)
    )


def _named(by: str, directory: Directory) -> str:
    return directory.address_of(by)
