"""Query plans: the analysis of a query, shared by bindings that differ only in constants.

A ``QueryTemplate`` is a query without its constants. It is filled with markers and decided like any query. If each marker
becomes the constant of a literal, any constants of the same kinds can replace the markers.

Rules: further bindings of a template cost only their positions in the tree. A plan keeps its questions while a binding uses
it. A query that could be parsed differently with other constants has no template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from postroad.core.exchange.compile.analysis import (
    EVERYTHING,
    EvaluationMode,
    QueryDecision,
    build_undecided,
    decide,
    restrict_to_routing_key,
)
from postroad.core.exchange.compile.disjunctive_form import Conjunction
from postroad.core.exchange.compile.fallback_conditions import fallback_reasons_of
from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.match.groups import is_sorted
from postroad.core.exchange.match.questions import Probe, QuestionIndex
from postroad.core.exchange.match.tree import ConjunctionLayout, ConjunctionPlacement, is_hashed, is_prefixed
from postroad.core.exchange.query.syntax import Constant
from postroad.core.exchange.slots import HeaderSlot

_PROLOG = re.compile(r"\s*+(?:declare\s[^;\"']*+(?:\"[^\"]*+\"|'[^']*+')?[^;\"']*+;\s*+)*")
_CONSTANT = re.compile(r"""("[^"&]+"|'[^'&]+'|(?<![\w.·?$-])[0-9]{1,15}(?:\.[0-9]{1,15})?(?![\w.·-]))""")
_TEXT_MARKER = "\ue000{}\ue000"
_NUMBER_MARKER = 816_000_000_000
_NO_SKELETON = re.compile(r"&|816|[0-9][eE]")  # may stand for a marker, or hide where a constant ends
QUERY_CHARS = 4_000
ROUTING_KEY_MARKER = _TEXT_MARKER.format("key")


class QueryTemplate(NamedTuple):
    pieces: tuple[str, ...]  # the text between the constants
    kinds: str  # of the constants: s for text, i for integer, d for decimal
    has_routing_key: bool

    def fill(self) -> tuple[str, list[Constant]]:
        """A query with a marker for each constant, and the markers."""
        markers = [_marker(kind, number) for number, kind in enumerate(self.kinds)]
        written = [f"'{marker}'" if isinstance(marker, str) else str(marker) for marker in markers]
        text = self.pieces[0] + "".join(a + b for a, b in zip(written, self.pieces[1:], strict=True))
        return text, markers


def _marker(kind: str, number: int) -> Constant:
    if kind == "s":
        return _TEXT_MARKER.format(number)
    whole = _NUMBER_MARKER + number
    return whole if kind == "i" else Decimal(f"{whole}.5")


def split_constants(query: str, routing_key: str | None) -> tuple[QueryTemplate, list[Constant]] | None:
    """The skeleton and the constants, the routing key last; None if it is not certain what they are."""
    if len(query) > QUERY_CHARS:
        return None
    start = found.end() if (found := _PROLOG.match(query)) else 0
    parts = _CONSTANT.split(query[start:])
    pieces = (query[:start] + parts[0], *parts[2::2])
    if any(map(_NO_SKELETON.search, pieces)):
        return None
    constants = [_constant(written) for written in parts[1::2]]
    kinds = "".join([_KINDS[type(constant)] for constant in constants])
    if routing_key is not None:
        constants.append(routing_key)
    return QueryTemplate(pieces, kinds, routing_key is not None), constants


_KINDS = {str: "s", int: "i", Decimal: "d"}


def _constant(written: str) -> Constant:
    if written[0] in "'\"":
        return written[1:-1]
    return Decimal(written) if "." in written else int(written)


_MAX_UNFIT = 1_000


class MatchingTerms(NamedTuple):
    """The terms of a binding: a query, a routing key, both, or a decision by something other than a query."""

    query: str
    routing_key: str | None
    always: bool

    def decision(self) -> QueryDecision:
        decision = self._without_routing_key()
        return decision if self.routing_key is None else restrict_to_routing_key(decision, self.routing_key)

    def _without_routing_key(self) -> QueryDecision:
        if self.always:
            return build_undecided("a script or a function selects")
        return decide(self.query) if self.query else EVERYTHING


class _Asked(NamedTuple):
    """A literal: its probe, and its constant or the constant's index among those of a binding."""

    probe: Probe
    negated: bool
    constant: Any
    nth: int | None
    as_double: bool

    def value(self, constants: Sequence[Any]) -> Any:
        if self.nth is None:
            return self.constant
        value = constants[self.nth]
        return float(value) if self.as_double else value


class _Pattern:
    """A conjunction with open constants: the equalities that select its place in the tree, and the remaining literals."""

    __slots__ = ("_layouts", "_left", "_shape", "_ways")

    def __init__(self, ways: Iterable[_Asked], left: Iterable[_Asked]) -> None:
        self._ways = tuple(ways)
        self._left = tuple(left)
        self._shape = tuple((asked.probe, asked.negated) for asked in self._left)
        self._layouts: tuple[ConjunctionLayout, ...] = ()  # one for each order of the ways that has come up

    @property
    def probes(self) -> list[Probe]:
        return [asked.probe for asked in self._ways + self._left]

    def place(self, constants: Sequence[Any]) -> ConjunctionPlacement:
        """Return its place in the tree: the equality with the most different constants first."""
        pairs = [(asked.probe, asked.value(constants)) for asked in self._ways]
        for probe, constant in pairs:
            probe.meet(constant)
        if len(pairs) > 1:
            pairs.sort(key=_fewest_constants)
        values = [constant for _, constant in pairs] + [asked.value(constants) for asked in self._left]
        return ConjunctionPlacement(self._layout(tuple([probe for probe, _ in pairs])), tuple(values))

    def _layout(self, ways: tuple[Probe, ...]) -> ConjunctionLayout:
        for layout in self._layouts:
            if layout.ways == ways:
                return layout
        layout = ConjunctionLayout(ways, self._shape)
        self._layouts += (layout,)
        return layout


def _fewest_constants(way: tuple[Probe, Any]) -> int:
    return -len(way[0].view.constants)


class QueryPlan:
    __slots__ = ("_patterns", "doubts", "keys", "looks_inside", "name", "standing", "views")

    def __init__(
        self,
        name: QueryTemplate | MatchingTerms,
        decision: QueryDecision,
        questions: QuestionIndex,
        markers: Sequence[Any] = (),
    ) -> None:
        self.name = name
        self.standing = decision.standing
        literals = [literal for one in decision.normal.conjunctions for literal in one]
        self.doubts = fallback_reasons_of(literals, uses_whole=decision.uses_whole)
        self.keys = 0  # that are bound by it
        self._patterns = tuple(_pattern(one, questions, markers) for one in decision.normal.conjunctions)
        self.views = tuple({probe.view: None for pattern in self._patterns for probe in pattern.probes})
        self.looks_inside = any(not isinstance(view.slot, HeaderSlot) for view in self.views)

    def place(self, constants: Sequence[Any]) -> tuple[ConjunctionPlacement, ...]:
        found: dict[ConjunctionPlacement, None] = {}
        for pattern in self._patterns:
            place = pattern.place(constants)
            if place in found:  # some of the constants are the same
                place.forget()
            found[place] = None
        return tuple(found)

    def end(self, questions: QuestionIndex) -> None:
        for pattern in self._patterns:
            for probe in pattern.probes:
                questions.release(probe)


def _pattern(conjunction: Conjunction, questions: QuestionIndex, markers: Sequence[Any]) -> _Pattern:
    literals = sorted(conjunction, key=_order) if len(conjunction) > 1 else list(conjunction)
    hashed = list(filter(is_hashed, literals)) or list(filter(is_prefixed, literals))[:1]
    ways = [_asked(literal, questions, markers) for literal in hashed]
    left = [_asked(literal, questions, markers) for literal in literals if literal not in hashed]
    left.sort(key=lambda asked: not is_sorted((asked.probe, asked.negated)))
    return _Pattern(ways, left)


def _asked(literal: Literal, questions: QuestionIndex, markers: Sequence[Any]) -> _Asked:
    constant = literal.constant
    nth = markers.index(constant) if constant in markers else None
    as_double = nth is not None and type(constant) is not type(markers[nth])
    return _Asked(questions.hold(literal), literal.negated, constant if nth is None else None, nth, as_double)


def _order(literal: Literal) -> tuple[str, str, str, bool, str]:
    """A sort key that is equal for literals that differ only in constants."""
    return str(literal.slot), literal.reading.value, literal.test.value, literal.negated, str(literal.constant)


class QueryPlans:
    """The plans in use, by query template; a query without a template has a plan of its own."""

    __slots__ = ("_plans", "_questions", "_unfit")

    def __init__(self, questions: QuestionIndex) -> None:
        self._questions = questions
        self._plans: dict[QueryTemplate | MatchingTerms, QueryPlan] = {}
        self._unfit: set[QueryTemplate] = set()  # of which it is known that other constants may be read otherwise

    def __bool__(self) -> bool:
        return bool(self._plans)

    def plan(self, wanted: MatchingTerms) -> tuple[QueryPlan, Sequence[Any]]:
        """Return the plan for a query and its constants; the plan is in use until it is released."""
        apart = None if wanted.always else split_constants(wanted.query, wanted.routing_key)
        plan, constants = (None, ()) if apart is None else (self._by_skeleton(apart[0]), apart[1])
        if plan is None:
            plan, constants = self._by_text(wanted), ()
        plan.keys += 1
        return plan, constants

    def let_go(self, plan: QueryPlan) -> None:
        plan.keys -= 1
        if not plan.keys:
            plan.end(self._questions)
            del self._plans[plan.name]

    def _by_text(self, wanted: MatchingTerms) -> QueryPlan:
        if wanted not in self._plans:
            self._plans[wanted] = QueryPlan(wanted, wanted.decision(), self._questions)
        return self._plans[wanted]

    def _by_skeleton(self, skeleton: QueryTemplate) -> QueryPlan | None:
        if skeleton in self._plans or skeleton in self._unfit:
            return self._plans.get(skeleton)
        text, markers = skeleton.fill()
        if skeleton.has_routing_key:
            markers.append(ROUTING_KEY_MARKER)
        decision = MatchingTerms(text, ROUTING_KEY_MARKER if skeleton.has_routing_key else None, False).decision()
        if not _fits_any_constants(decision, markers):
            self._unfit = {*self._unfit, skeleton} if len(self._unfit) < _MAX_UNFIT else {skeleton}
            return None
        plan = self._plans[skeleton] = QueryPlan(skeleton, decision, self._questions, markers)
        return plan


def _fits_any_constants(decision: QueryDecision, markers: Sequence[Any]) -> bool:
    """Return True if all markers are constants of literals, and the decision did not depend on their values."""
    literals = [literal for one in decision.normal.conjunctions for literal in one]
    constants = {literal.constant for literal in literals}
    patterns = any(literal.test is Test.MATCHES for literal in literals)
    return decision.standing is EvaluationMode.SHARED and constants.issuperset(markers) and not patterns
