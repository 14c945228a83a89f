"""A plan's steps: one object each that is added, changed or removed, with what changes of it.

A plan's ``version`` covers every step and the versions of what it touches, so applying it is refused once any of that has moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec

from postroad.core.configuration.document import Fault


class Action(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field that changes; ``resets`` where the document does not set it, so that it returns to its default."""

    field: str
    before: Any
    after: Any
    resets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One object that is added, changed or removed; ``value`` None means removed."""

    action: Action
    kind: str
    key: str
    name: str  # as people know it
    seen_version: int
    value: Any | None
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[PlannedStep, ...] = ()
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()  # what may be right later, or on another node; nothing of them stops the plan

    @property
    def version(self) -> str:
        """Names this very plan: the same as long as the same steps meet the same versions."""
        facts = [(s.action, s.kind, s.name, s.seen_version, [_told(f) for f in s.fields]) for s in self.steps]
        return blake2b(msgspec.json.encode(facts, order="sorted"), digest_size=16).hexdigest()

    def count(self, action: Action) -> int:
        return sum(step.action is action for step in self.steps)


def _told(change: FieldChange) -> tuple[str, Any, Any]:
    return change.field, change.before, change.after
