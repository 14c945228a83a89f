"""Where a document of a batch stands in its interchange, as the journal keeps it, so that a partner's answer finds it again."""

from __future__ import annotations

from postroad.core.interchange.nouns import Placed
from postroad.core.model.interchange import Filed


def filed(placed: Placed, delivery: int) -> Filed:
    """``delivery`` is the one by which the document joined its batch."""
    facts = tuple(placed.facts.items())
    return Filed(delivery, placed.interchange, placed.group, placed.kind, placed.reference, facts)
