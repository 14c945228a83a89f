"""Support requests: a member's question to the operators, the message it refers to, and the replies.

They are configuration objects, so every text is in the journal with its author and time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SupportState(StrEnum):
    OPEN = "open"  # waits for the operators
    ANSWERED = "answered"  # waits for the members
    CLOSED = "closed"  # until someone writes again


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportNote:
    at_us: int
    by: str  # e-mail
    text: str
    operator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportRequest:
    id: str
    organization: str
    subject: str
    session: str = ""  # of the message it refers to
    state: SupportState = SupportState.OPEN
    notes: tuple[SupportNote, ...] = ()

    @property
    def opened_at_us(self) -> int:
        return self.notes[0].at_us

    @property
    def changed_at_us(self) -> int:
        return self.notes[-1].at_us


def support_key(organization: str, request_id: str) -> str:
    """Return the key under which a request is saved."""
    return f"{organization.casefold()}/{request_id}"
