"""The nodes that a query's path selects: steps down from the document, a guard, and how certain that is.

The nodes of a path are those at its steps if its guard holds, and none otherwise. If a predicate selects some of several
nodes, the result is inexact: the real nodes are among these. Nodes are *linked* if they belong to one of several nodes
that a predicate or a quantifier tests in turn; two conditions on linked nodes may each be met by a different node.
Rule: an inexact result may contain too many nodes, never too few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.core.exchange.conditions import TRUE, All, Any, Condition, Literal, Test, all_of
from postroad.core.exchange.query.syntax import QueryStep, StepKind
from postroad.core.exchange.slots import DocumentSlot, SlotStep
from postroad.core.exchange.value_conversion import Conversion

_EXISTENTIAL = (
    Conversion.TEXTS, Conversion.DOUBLES, Conversion.BOOLEANS,
    Conversion.LOOKED_UP, Conversion.LOOKED_UP_TEXTS, Conversion.LOOKED_UP_DOUBLES, Conversion.LOOKED_UP_BOOLEANS,
)  # fmt: skip
MAX_STEPS = 256  # maximum depth of documents
MAX_WILDCARDS = 3  # maximum wildcard steps after //; a path with more needs the engine


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCondition:
    """A necessary condition; if exact, also a sufficient one."""

    condition: Condition
    exact: bool


UNSURE = JudgedCondition(condition=TRUE, exact=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    steps: tuple[SlotStep, ...] = ()
    single: bool = True  # there is at most one, or at most one for each linked node
    guard: Condition = TRUE
    exact: bool = True
    exact_if_any: bool = True  # whether there are any is exact, though not which
    linked: bool = False

    @property
    def slot(self) -> DocumentSlot:
        return DocumentSlot(steps=self.steps)

    @property
    def plain(self) -> bool:
        """Return True if exactly these nodes are known to exist."""
        return self.exact and not self.linked and self.guard == TRUE

    def below(self, step: QueryStep) -> Nodes | None:
        """Return the nodes after a step without its predicates; None if they are unknown."""
        if step.kind is StepKind.SELF:
            return self
        if not self._leads_on(step):
            return None
        steps = (*self.steps, SlotStep(kind=step.kind, descends=step.descends, name=step.name))
        if len(steps) > MAX_STEPS or _wildcards_in_search(steps) > MAX_WILDCARDS:
            return None
        return replace(self, steps=steps, single=self.single and self._keeps_single(step), exact_if_any=self.exact)

    def _leads_on(self, step: QueryStep) -> bool:
        if not self.steps:
            return True
        return self.is_looked_up if step.kind.is_lookup else self.steps[-1].kind is StepKind.ELEMENT

    @property
    def is_looked_up(self) -> bool:
        """Return True if these are values in a JSON document."""
        return self.slot.is_lookup

    def _keeps_single(self, step: QueryStep) -> bool:
        if step.kind.is_lookup:
            return step.name.local is not None
        if step.descends:
            return False
        if step.kind is StepKind.ATTRIBUTE:
            return step.name.local is not None and step.name.namespace is not None
        return step.kind is StepKind.ELEMENT and not self.steps and not self.linked

    def each(self) -> Nodes:
        """One of them, whichever."""
        return Nodes(steps=self.steps, linked=True)

    @property
    def tried_in_turn(self) -> bool:
        return self.linked or not self.single

    def where(self, judged: JudgedCondition) -> Nodes:
        """Return the nodes for which a predicate holds."""
        guard = all_of((self.guard, judged.condition))
        exact = self.exact and judged.exact
        if not self.tried_in_turn:
            return replace(self, guard=guard, exact=exact, exact_if_any=exact)
        return replace(self, guard=guard, exact=False, exact_if_any=exact)

    def any(self) -> JudgedCondition:
        condition = self.guard
        if self.steps and not implies_any(condition, self.steps):
            reading = Conversion.LOOKED_UP if self.is_looked_up else Conversion.TEXTS
            there = Literal(slot=self.slot, reading=reading, test=Test.EXISTS)
            condition = all_of((condition, there))
        return JudgedCondition(condition=condition, exact=self.exact_if_any)


def _wildcards_in_search(steps: tuple[SlotStep, ...]) -> int:
    """Count the wildcard steps after ``//``; each can double the number of positions to remember."""
    searched = next((number for number, step in enumerate(steps) if step.descends), len(steps))
    elements = [step.name for step in steps[searched:] if step.kind is StepKind.ELEMENT]
    return sum(name.local is None or name.namespace is None for name in elements)


def implies_any(condition: Condition, steps: tuple[SlotStep, ...]) -> bool:
    """Return True if the condition can only hold if there is a node at these steps."""
    if isinstance(condition, All):
        return any(implies_any(part, steps) for part in condition.parts)
    if isinstance(condition, Any):
        return all(implies_any(part, steps) for part in condition.parts)
    if condition.negated or condition.reading not in _EXISTENTIAL or not isinstance(condition.slot, DocumentSlot):
        return False
    return condition.slot.starts_with(steps)
