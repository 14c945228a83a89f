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

    wrapper_bytes: int = 0  # bytes between the parts and the explanation in the body: the wrapper of the parts
    notes: tuple[str, ...] = ()  # headers that contradict the content, and errors that its decoder tolerated
    message_id: str = ""  # AS2: the sender's Message-ID
    mic: str = ""  # AS2: the digest that the MDN confirms
    layers: tuple[str, ...] = ()  # AS2: signed, encrypted, compressed; outermost first


def total_size(parts: tuple[PartFacts, ...]) -> int:
    """Return the total bytes of these documents and attachments."""
    if len(parts) == 1:
        return parts[0].size
    return sum([part.size for part in parts])
