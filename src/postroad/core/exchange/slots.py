"""Slots: the places in messages that bindings examine, shared by all bindings that examine the same place.

A slot is a path down from the document, or an item of the header. It holds the string values of the nodes there, the typed
values there if the document is JSON, or the item's typed value; and nothing if there is none. Rule: a slot has no
constants in it, so that there are few of them however many bindings there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from postroad.core.exchange.query.syntax import ANY_NAME, QualifiedName, StepKind

ROUTING_KEY = "routing_key"  # the item, and so the variable, that holds the message's topic
HeaderValue = str | bool | int | Decimal | float | datetime | date | Sequence["HeaderValue"]
_ITEMS = (str, bool, int, Decimal, float, date, list, tuple)
_TYPES: dict[str, tuple[type, ...]] = {
    "": _ITEMS, "item()": _ITEMS, "xs:string": (str,),
    "xs:boolean": (bool,), "xs:integer": (int,), "xs:decimal": (int, Decimal), "xs:double": (int, Decimal, float),
}  # fmt: skip
Raw = Any  # a list of values, or a tuple with the item


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotStep:
    kind: StepKind
    descends: bool = False
    name: QualifiedName = ANY_NAME

    def __str__(self) -> str:
        if self.kind.is_lookup:
            return f"?{self.name}"
        mark = {StepKind.ATTRIBUTE: f"@{self.name}", StepKind.TEXT: "text()"}.get(self.kind, str(self.name))
        return ("//" if self.descends else "/") + mark


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSlot:
    steps: tuple[SlotStep, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.steps)) or "/"

    @property
    def is_text(self) -> bool:
        return bool(self.steps) and self.steps[-1].kind is StepKind.TEXT

    @property
    def is_lookup(self) -> bool:
        """Whether it is a place in a JSON document; else it is one in an XML document."""
        return bool(self.steps) and self.steps[0].kind.is_lookup

    def starts_with(self, steps: tuple[SlotStep, ...]) -> bool:
        return self.steps[: len(steps)] == steps


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderSlot:
    name: str
    declared: str = ""

    def __str__(self) -> str:
        return f"${self.name}"

    def takes(self, item: HeaderValue | None) -> bool:
        """Whether the item, or that there is none, is as the query declares it."""
        if item is None:
            return not self.declared or self.declared.endswith(("?", "*"))
        types = _TYPES[self.declared.rstrip("?*+")]
        return isinstance(item, types) and (bool in types or not isinstance(item, bool))

    @property
    def promotes(self) -> bool:
        """Return True if every number is converted to a double, the declared type."""
        return self.declared.startswith("xs:double")


def is_known_type(declared: str) -> bool:
    return declared.rstrip("?*+") in _TYPES


Slot = DocumentSlot | HeaderSlot
