"""The matcher: holds all bindings of an exchange and finds those that a message matches.

Rules: a message is parsed at most once, and not at all if no binding reads message content. The cost of binding and
unbinding depends only on the one query, not on the number of bindings. The caller chooses the keys; each is bound once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec

from postroad.core.codecs.xml import Tree
from postroad.core.exchange.compile.analysis import EvaluationMode
from postroad.core.exchange.compile.fallback_conditions import FallbackBindings, FallbackReason, find_fallback_reason
from postroad.core.exchange.match.groups import Key
from postroad.core.exchange.match.json_documents import JsonDocument
from postroad.core.exchange.match.message_facts import MessageFacts
from postroad.core.exchange.match.query_plans import MatchingTerms, QueryPlan, QueryPlans
from postroad.core.exchange.match.questions import QuestionIndex
from postroad.core.exchange.match.tree import ConjunctionPlacement, MatchNode, add_placement, remove_placement
from postroad.core.exchange.slots import ROUTING_KEY, HeaderSlot, HeaderValue, Raw
from postroad.errors import Refused

MAX_FAILED = 1_000  # bindings at which one unreadable document counts as an error


class MatchableMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The message as the matcher sees it: header items by name, bytes, and functions that parse its document."""

    headers: Mapping[str, HeaderValue]
    content: bytes
    root: Callable[[], Tree]  # of an XML document; parses on first use; may refuse
    json: Callable[[], JsonDocument] | None = None  # of a JSON document, which then has no root


class MatcherBinding(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    query: str
    routing_key: str | None
    standing: EvaluationMode


class MatchResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    decided: frozenset[Key] = frozenset()  # matches: the message is forwarded unchanged
    candidates: frozenset[Key] = frozenset()  # candidates: the engine decides, and produces the result
    failed: frozenset[Key] = frozenset()  # they look inside of a document that cannot be read
    fault: str = ""  # why it cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionExplanation:
    """How a binding is evaluated, in words."""

    standing: EvaluationMode
    condition: str  # that decides, or without which the engine is not asked
    reason: str = ""
    position: int | None = None

    def __str__(self) -> str:
        if self.standing is EvaluationMode.SHARED:
            return f"shared: {self.condition}"
        where = "" if self.position is None else f" (character {self.position + 1})"
        if self.standing is EvaluationMode.ALWAYS:
            return f"always evaluated: {self.reason}{where}"
        return f"prefiltered by {self.condition}: {self.reason}{where}"


class _Bound(NamedTuple):
    plan: QueryPlan
    placements: tuple[ConjunctionPlacement, ...]
    wanted: MatchingTerms


class Matcher:
    __slots__ = ("_bound", "_doubtful", "_evaluated", "_inside", "_plans", "_questions", "_tree")

    def __init__(self) -> None:
        self._bound: dict[Key, _Bound] = {}
        self._evaluated: set[Key] = set()  # by the engine
        self._doubtful = FallbackBindings()
        self._inside: dict[str | None, dict[Key, None]] = {}  # those that look inside of messages, by routing key
        self._questions = QuestionIndex()
        self._plans = QueryPlans(self._questions)
        self._tree = MatchNode(is_root=True)

    def __len__(self) -> int:
        return len(self._bound)

    def __contains__(self, key: Key) -> bool:
        return key in self._bound

    @property
    def is_empty(self) -> bool:
        """Return True if no data of any binding remains."""
        return not (self._bound or self._plans or self._doubtful.keys or self._tree or self._questions.in_use)

    @property
    def looks_inside(self) -> bool:
        """Whether the tree has to look into messages, beyond their headers."""
        return bool(self._questions.documents or self._questions.lookups)

    def bind(
        self, key: Key, query: str = "", *, routing_key: str | None = None, always: bool = False
    ) -> MatcherBinding:
        """Bind a query that the engine has compiled, a routing key, or both; with neither, every message matches.

        With ``always``, something other than a query decides: every message with the routing key is a candidate. Binding a key
        twice is an error of the caller.
        """
        if key in self._bound:
            raise ValueError(f"{key!r} is already bound; unbind it first")
        if always and query:
            raise ValueError("use either a query or another selection, not both")
        wanted = MatchingTerms(query, routing_key, always)
        plan, constants = self._plans.plan(wanted)
        placements = plan.place(constants)
        self._bound[key] = _Bound(plan, placements, wanted)
        for place in placements:
            add_placement(self._tree, place, key)
        if plan.standing is not EvaluationMode.SHARED:
            self._evaluated.add(key)
        self._doubtful.add(plan.doubts, routing_key, key)
        if plan.looks_inside:
            self._inside.setdefault(routing_key, {})[key] = None
        return MatcherBinding(key=key, query=query, routing_key=routing_key, standing=plan.standing)

    def unbind(self, key: Key) -> None:
        plan, placements, wanted = self._bound.pop(key)
        for place in placements:
            remove_placement(self._tree, place, key)
            place.forget()
        self._evaluated.discard(key)
        self._doubtful.discard(plan.doubts, wanted.routing_key, key)
        if plan.looks_inside:
            inside = self._inside[wanted.routing_key]
            del inside[key]
            if not inside:
                del self._inside[wanted.routing_key]
        self._plans.let_go(plan)

    def match(self, message: MatchableMessage) -> MatchResult:
        out: list[Key] = []
        facts, fault = self._facts(message)
        self._tree.collect(facts, out)
        met = frozenset(out)
        candidates = met & self._evaluated if self._evaluated else _NONE
        doubt = find_fallback_reason(message.content, is_json=message.json is not None)
        if self._doubtful.keys:
            candidates |= self._doubtful.among(doubt, message.headers.get(ROUTING_KEY))
        candidates |= self._unsure(met, facts, is_bare=doubt is FallbackReason.BARE)
        failed = self._unread(message, facts) - candidates if fault else _NONE
        decided = met - candidates if candidates else met
        return MatchResult(decided=decided, candidates=candidates, failed=failed, fault=fault)

    def _unsure(self, met: frozenset[Key], facts: MessageFacts, *, is_bare: bool) -> frozenset[Key]:
        """Return the bindings that the engine may see otherwise: one value passes and another is an error, in either order."""
        if is_bare:
            return frozenset([key for key in met if self._has_to_do_with_message(self._bound[key])])
        known: dict[QueryPlan, bool] = {}
        found = []
        for key in met:
            plan = self._bound[key].plan
            is_unsure = known.get(plan)
            if is_unsure is None:
                is_unsure = known[plan] = any(facts.values(view).bad for view in plan.views)
            if is_unsure:
                found.append(key)
        return frozenset(found)

    def _has_to_do_with_message(self, bound: _Bound) -> bool:
        return bound.plan.looks_inside or "$msg" in bound.wanted.query

    def _unread(self, message: MatchableMessage, facts: MessageFacts) -> frozenset[Key]:
        """Return the bindings that would look inside, as far as header and routing key let them; MAX_FAILED at most."""
        topic = message.headers.get(ROUTING_KEY)
        groups = [self._inside.get(None, {}), self._inside.get(topic, {}) if isinstance(topic, str) else {}]
        reached = (key for group in groups for key in group if _reaches_inside(self._bound[key].placements, facts))
        return frozenset(islice(reached, MAX_FAILED))

    def _facts(self, message: MatchableMessage) -> tuple[MessageFacts, str]:
        """Return a message's values, and the error if a value could not be read, such as nodes in JSON."""
        questions = self._questions
        found: dict[int, Raw] = {}
        fault = ""
        try:
            if message.json is None:
                unread: Container[int] = questions.lookups
                if questions.documents:
                    found = questions.extraction.look(message.root())
            else:
                unread = questions.documents
                if questions.lookups:
                    found = questions.looking_up.look(message.json())
        except Refused as refusal:
            unread, fault = questions.inside, refusal.detail
        return MessageFacts(found, unread, message.headers, questions), fault

    def standing(self, key: Key) -> EvaluationMode:
        return self._bound[key].plan.standing

    def explain(self, key: Key) -> DecisionExplanation:
        decision = self._bound[key].wanted.decision()
        return DecisionExplanation(
            standing=decision.standing, condition=decision.necessary, reason=decision.reason, position=decision.position
        )


def _reaches_inside(placements: tuple[ConjunctionPlacement, ...], facts: MessageFacts) -> bool:
    """Whether the header leaves it to the document to decide."""
    for place in placements:
        parts = [*[(probe, False) for probe in place.layout.ways], *place.layout.shape]
        asked = [
            (probe, negated, constant)
            for (probe, negated), constant in zip(parts, place.constants, strict=True)
            if isinstance(probe.view.slot, HeaderSlot)
        ]
        if len(asked) < len(parts) and all(
            facts.try_values(probe)(constant) != negated for probe, negated, constant in asked
        ):
            return True
    return False


_NONE: frozenset[Key] = frozenset()
