"""The two sizes of a message at a stage: the bytes of its documents and attachments, and the bytes on the wire.

Rule: reports and lists show ``content_size``; bills count the entry's own ``size``, so entries written before the two
were distinguished keep their bills.
"""

from __future__ import annotations

from postroad.core.model.journal import InvocationReturned, MessagePosted, MessageRefused
from postroad.core.model.part_facts import total_size


def content_size(entry: MessagePosted | InvocationReturned | MessageRefused) -> int:
    """Return the bytes of the entry's documents and attachments; of an older refusal, the bytes on the wire."""
    if entry.wire_size >= 0 or isinstance(entry, MessageRefused):
        return entry.size
    return total_size(entry.parts)


def wire_size(entry: MessagePosted | InvocationReturned | MessageRefused) -> int:
    """Return the bytes on the wire; 0 for messages made inside the network."""
    return entry.wire_size if entry.wire_size >= 0 else entry.size
