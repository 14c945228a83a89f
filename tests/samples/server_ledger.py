"""What a network has promised to its clients, written down as the answers came, and every promise that it broke.

Rule: only what was answered counts. A request without an answer may have been carried out or not; both are allowed,
and the ledger learns which from what comes later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


@dataclass(slots=True)
class Ledger:
    sent: dict[str, bytes] = field(default_factory=dict)  # handle → digest of the payload
    sessions: dict[str, str] = field(default_factory=dict)  # handle → session it was accepted under
    delivered: dict[str, str] = field(default_factory=dict)  # handle → session it was handed out under
    acknowledged_at: dict[str, float] = field(default_factory=dict)  # token → when that was answered
    attempts: dict[str, set[int]] = field(default_factory=dict)  # session → attempt numbers that receivers got
    hand_outs: int = 0
    duplicates: int = 0
    faults: list[str] = field(default_factory=list)

    def send(self, handle: str, data: bytes) -> None:
        self.sent[handle] = digest(data)

    def accept(self, handle: str, session: str) -> None:
        """A post was answered with this session, or refused as a duplicate of it."""
        first = self.sessions.setdefault(handle, session)
        if first != session:
            self.faults.append(f"{handle} was accepted as {first} and again as {session}")

    def duplicate(self, handle: str, session: str) -> None:
        self.duplicates += 1
        self.accept(handle, session)

    def hand_out(self, handle: str, session: str, token: str, attempt: int, data: bytes, asked_at: float) -> None:
        self.hand_outs += 1
        if attempt in (attempts := self.attempts.setdefault(session, set())):
            self.faults.append(f"{handle} was handed out twice as attempt {attempt}")
        attempts.add(attempt)
        if self.sent.get(handle) != digest(data):
            self.faults.append(f"{handle} was handed out with other bytes than were posted")
        if self.delivered.setdefault(handle, session) != session:
            self.faults.append(f"{handle} was handed out as {self.delivered[handle]} and as {session}")
        if self.acknowledged_at.get(token, asked_at) < asked_at:
            self.faults.append(f"{handle} was handed out after its acknowledgement had been answered")

    def acknowledge(self, tokens: list[str], answered_at: float) -> None:
        for token in tokens:
            self.acknowledged_at.setdefault(token, answered_at)

    def missing_from(self, leases: Mapping[str, int]) -> list[str]:
        """The hand-outs that receivers got and a journal lacks that has so many of each session."""
        return [
            f"attempt {attempt} of session {session} is not in the journal, which has {leases.get(session, 0)} hand-outs"
            for session, attempts in self.attempts.items()
            for attempt in sorted(attempts)
            if attempt > leases.get(session, 0)
        ]

    @property
    def lost(self) -> list[str]:
        return [handle for handle in self.sessions if handle not in self.delivered]

    def close(self) -> list[str]:
        """Every broken promise, now that nothing waits in the network any more."""
        confused = [
            f"{handle} was accepted as {session} and handed out as {self.delivered[handle]}"
            for handle, session in self.sessions.items()
            if self.delivered.get(handle, session) != session
        ]
        return self.faults + confused + [f"{handle} was accepted and never handed out" for handle in self.lost]
