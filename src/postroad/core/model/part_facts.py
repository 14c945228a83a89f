"""Documents and attachments of a message in the journal, and how a message arrived.

Rule: the size of a message at any stage is the bytes of its documents and attachments. The bytes on the wire are
counted separately.
"""

from __future__ import annotations

from msgspec import Struct


class PartFacts(Struct, gc=False, frozen=True, array_like=True):
    """One part as the journal describes it; its bytes are the next ``size`` bytes of the entry's body."""

    id: str
    content_type: str
    size: int
    expires_at_us: int = 0
    attachment: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class MessageArrival(Struct, gc=False, frozen=True, array_like=True):
    """How a message in an external format arrived; the bytes of its wrapper are in the body."""

    wrapper_bytes: int = 0  # bytes between the parts and the explanation in the body: how the parts were wrapped
    notes: tuple[str, ...] = ()  # what its headers said otherwise than its bytes, and what its reader let pass
    message_id: str = ""  # by AS2: what its sender calls it
    mic: str = ""  # by AS2: the digest that the receipt confirms
    layers: tuple[str, ...] = ()  # by AS2: signed, encrypted, compressed, from the outside in


def total_size(parts: tuple[PartFacts, ...]) -> int:
    """Return the bytes of all these documents and attachments."""
    if len(parts) == 1:
        return parts[0].size
    return sum([part.size for part in parts])
