"""Types of ``model`` at the path that plug-ins for version 0.2 import."""

from __future__ import annotations

from postroad.core.interchange.model import (
    MAX_MEMBERS,
    Assemble,
    AssembleDescribed,
    Buffer,
    DescribedDocument,
    Envelope,
    InterchangeFault,
    InterchangeGroup,
    Member,
    Numbers,
    OnEnvelopeError,
    PartnerStatus,
    Placed,
    PlacedCallback,
    Split,
)

Dirt = OnEnvelopeError

__all__ = [
    "MAX_MEMBERS",
    "Assemble",
    "AssembleDescribed",
    "Buffer",
    "DescribedDocument",
    "Dirt",
    "Envelope",
    "InterchangeFault",
    "InterchangeGroup",
    "Member",
    "Numbers",
    "OnEnvelopeError",
    "PartnerStatus",
    "Placed",
    "PlacedCallback",
    "Split",
]
