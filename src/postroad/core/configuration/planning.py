"""What sections share while planning: the objects they want, what they may know, and the faults they find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from postroad.core.configuration.document import Fault
from postroad.core.model.directory import Credential
from postroad.core.model.snapshot import Directory


class Wanted(NamedTuple):
    """An object as the document wants it, with its place there and its name among people."""

    place: str
    value: Any
    name: str
    named: frozenset[str] | None = None  # the fields that the document sets; None where that makes no difference


@dataclass(slots=True, kw_only=True)
class Planning:
    """What sections need to know, and the faults that they find."""

    directory: Directory
    secrets: Mapping[str, str]
    fresh_ids: Iterator[str]
    now_us: int
    may_choose_ids: bool
    asset_faults: Mapping[str, Sequence[Fault]] = field(default_factory=dict)  # by the place of the asset
    binding_faults: Mapping[str, Sequence[Fault]] = field(default_factory=dict)  # by the place of the binding
    proven: frozenset[str] | None = None  # places of certificates whose keys are proven; None: none needs to be
    callables: frozenset[str] = frozenset()  # routings that the operator has registered
    faults: list[Fault] = field(default_factory=list)
    replaced: list[Credential] = field(default_factory=list)  # that go, because others come under their labels

    def fault(self, place: str, detail: str) -> None:
        self.faults.append(Fault(place, detail))
