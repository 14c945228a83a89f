"""Reads the journal entry of a rejected post, and the explanation of its route."""

from __future__ import annotations

from postroad.core.model.journal import MessageRefused, decode
from postroad.core.routing.explain.explanation import ServiceTried, unpack_tried
from postroad.ports import BodyAt, Journal


async def load_refusal(journal: Journal, seq: int) -> MessageRefused:
    """Return the rejected post that is entry ``seq``."""
    return (await _load(journal, seq))[0]


async def load_explained_refusal(journal: Journal, seq: int) -> tuple[MessageRefused, tuple[ServiceTried, ...], bool]:
    """Return the rejected post, the services whose rules were tried, and whether retention dropped that list."""
    entry, at = await _load(journal, seq)
    if not entry.explained or at is None:
        return entry, (), False
    body = await journal.body(at)
    return (entry, unpack_tried(body), False) if body is not None else (entry, (), True)


async def _load(journal: Journal, seq: int) -> tuple[MessageRefused, BodyAt | None]:
    record = (await journal.read(seq - 1, 1)).records[0]
    entry = decode(record.facts)
    if not isinstance(entry, MessageRefused):
        raise ValueError(f"entry {seq} is not a rejected post")
    return entry, record.body
