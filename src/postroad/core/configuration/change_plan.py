"""A change plan: its steps, and the context that sections share while planning.

A plan's ``version`` covers every step and the versions of the objects it changes, so applying it is refused once any
of them has changed. The shared context contains the desired objects, what sections may know, and the errors they
find.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from postroad.core.configuration.document import DocumentError
from postroad.core.model.directory import Credential
from postroad.core.model.snapshot import Directory


class StepAction(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """One field that changes; ``resets`` where the document does not set it, so that it returns to its default."""

    field: str
    before: Any
    after: Any
    resets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStep:
    """One object that is added, changed or removed; ``value`` None means removed."""

    action: StepAction
    kind: str
    key: str
    name: str  # as people know it
    seen_version: int
    value: Any | None
    fields: tuple[ChangedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationPlan:
    steps: tuple[ObjectStep, ...] = ()
    faults: tuple[DocumentError, ...] = ()
    warnings: tuple[DocumentError, ...] = ()  # may be right later or on another node, so the plan can be applied

    @property
    def version(self) -> str:
        """Return a digest that changes with the steps or with the versions of the objects they touch."""
        facts = [(s.action, s.kind, s.name, s.seen_version, [_comparable(f) for f in s.fields]) for s in self.steps]
        return blake2b(msgspec.json.encode(facts, order="sorted"), digest_size=16).hexdigest()

    def count(self, action: StepAction) -> int:
        return sum(step.action is action for step in self.steps)


def _comparable(change: ChangedField) -> tuple[str, Any, Any]:
    return change.field, change.before, change.after


class WantedObject(NamedTuple):
    """An object that the document asks for, with its pointer and display name."""

    place: str
    value: Any
    name: str
    named: frozenset[str] | None = None  # the fields that the document sets; None where that makes no difference


@dataclass(slots=True, kw_only=True)
class PlanningContext:
    """The inputs that sections need while planning, and the errors that they add."""

    directory: Directory
    secrets: Mapping[str, str]
    fresh_ids: Iterator[str]
    now_us: int
    may_choose_ids: bool
    asset_faults: Mapping[str, Sequence[DocumentError]] = field(default_factory=dict)  # by the place of the asset
    binding_faults: Mapping[str, Sequence[DocumentError]] = field(default_factory=dict)  # by the place of the binding
    proven: frozenset[str] | None = None  # places of certificates whose keys are proven; None: none needs to be
    callables: frozenset[str] = frozenset()  # routings that the operator has registered
    faults: list[DocumentError] = field(default_factory=list)
    replaced: list[Credential] = field(default_factory=list)  # credentials whose labels get new secrets

    def fault(self, place: str, detail: str) -> None:
        self.faults.append(DocumentError(place, detail))
