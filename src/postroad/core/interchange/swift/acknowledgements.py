"""Reads SWIFT's acknowledgments (F21) of messages that we sent.

Rule: an acknowledgment names a message by its user reference (108), or contains a copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.interchange.model import Split


@dataclass(frozen=True, slots=True, kw_only=True)
class SwiftAcknowledgement:
    """One acknowledgment."""

    accepted: bool
    user_reference: str
    reference: str  # :20: of the copy, if there is one
    at: str  # as SWIFT wrote it: YYMMDDhhmm
    reason: str = ""  # SWIFT's error code, if it was not accepted


def read_answers(found: Split) -> tuple[SwiftAcknowledgement, ...]:
    """Return every acknowledgment in a file; other messages are skipped."""
    return tuple(
        SwiftAcknowledgement(
            accepted=facts["acknowledged"] == "accepted",
            user_reference=facts.get("acknowledged_reference", "") or facts.get("user_reference", ""),
            reference=member.reference if member.kind != "ack" else "",
            at=facts.get("acknowledged_at", ""),
            reason=facts.get("acknowledged_reason", ""),
        )
        for member in found.members
        if "acknowledged" in (facts := member.facts)
    )
