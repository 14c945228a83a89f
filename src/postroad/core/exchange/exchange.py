"""An exchange with its bindings: selects those that a message matches, and who decides about the rest.

A binding is decided by the matcher, or is a candidate that a *decider* is asked about: a query in the engine, a script, or a
callable of the operator's. Rules: a binding that is switched off, or whose routing is not there, matches nothing; saving and
removing one costs the same however many there are.

Describes how a binding is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from postroad.core.exchange.compile.analysis import EvaluationMode
from postroad.core.exchange.match.matcher import DecisionExplanation, MatchableMessage, Matcher
from postroad.core.exchange.match.query_plans import MatchingTerms
from postroad.core.model.asset import AssetKind
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.snapshot import Directory


class DeciderLanguage(StrEnum):
    QUERY = "query"
    SCRIPT = "script"
    CALLABLE = "callable"


class BindingDecider(msgspec.Struct, frozen=True):
    """The decider of a binding; ``text`` is a query, a script, or the name of a callable."""

    language: DeciderLanguage
    text: str


@dataclass(slots=True, kw_only=True)
class BindingTally:
    """Counters of a binding since the exchange was opened on this node."""

    matched: int = 0
    matched_at_us: int = 0
    errors: int = 0
    last_error: str = ""
    last_error_at_us: int = 0

    def match(self, now_us: int) -> None:
        self.matched += 1
        self.matched_at_us = now_us

    def fail(self, text: str, now_us: int) -> None:
        self.errors += 1
        self.last_error, self.last_error_at_us = text, now_us


class SelectedBindings(msgspec.Struct, frozen=True):
    decided: list[Binding]  # the message goes there as it came
    asked: list[tuple[Binding, BindingDecider]]  # the decider says whether, and with what
    failed: list[Binding] = []  # they look inside of a document that cannot be read
    fault: str = ""  # why it cannot be read


_ROUTINGS = ((AssetKind.QUERY, DeciderLanguage.QUERY), (AssetKind.SCRIPT, DeciderLanguage.SCRIPT))


def decider_of(binding: Binding, directory: Directory, callables: Iterable[str] = ()) -> BindingDecider | None:
    """Return what decides a binding besides its routing key; None if nothing does, or its routing does not exist."""
    if binding.query:
        return BindingDecider(DeciderLanguage.QUERY, binding.query)
    if binding.script:
        return BindingDecider(DeciderLanguage.SCRIPT, binding.script)
    if binding.routing:
        for kind, language in _ROUTINGS:
            if (asset := directory.asset(binding.exchange, kind, binding.routing)) is not None:
                return BindingDecider(language, asset.content)
        if binding.routing in callables:
            return BindingDecider(DeciderLanguage.CALLABLE, binding.routing)
    return None


def matching_terms_of(binding: Binding, decider: BindingDecider | None) -> MatchingTerms | None:
    """What a binding asks of the matcher; None if it never matches."""
    if not binding.enabled or (decider is None and binding.routing):
        return None
    asked = decider is not None and decider.language is not DeciderLanguage.QUERY
    query = decider.text if decider is not None and not asked else ""
    return MatchingTerms(query, binding.routing_key or None, asked)


def is_always_evaluated(binding: Binding, decider: BindingDecider | None) -> bool:
    """Whether a decider would have to be asked about every message."""
    wanted = matching_terms_of(binding, decider)
    return wanted is not None and wanted.decision().standing is EvaluationMode.ALWAYS


class BoundExchange:
    def __init__(self, callables: Iterable[str] = ()) -> None:
        self._callables = frozenset(callables)
        self._matcher = Matcher()
        self._bindings: dict[str, Binding] = {}
        self._deciders: dict[str, BindingDecider | None] = {}
        self._by_routing: dict[str, set[str]] = {}
        self._tallies: dict[str, BindingTally] = {}

    def __len__(self) -> int:
        return len(self._bindings)

    def save(self, binding: Binding, directory: Directory) -> None:
        """Bind it, replacing the binding of the same name, whose counts start again."""
        key = binding_key(binding.exchange, binding.name)
        if self._bindings.get(key, binding) != binding:
            self._tallies.pop(key, None)
        self._save(binding, directory)

    def _save(self, binding: Binding, directory: Directory) -> None:
        key = binding_key(binding.exchange, binding.name)
        self._remove(key)
        decider = decider_of(binding, directory, self._callables)
        self._bindings[key], self._deciders[key] = binding, decider
        if binding.routing:
            self._by_routing.setdefault(binding.routing.casefold(), set()).add(key)
        if (wanted := matching_terms_of(binding, decider)) is not None:
            self._matcher.bind(key, wanted.query, routing_key=wanted.routing_key, always=wanted.always)

    def _remove(self, key: str) -> None:
        """Unbind this key, if it is bound."""
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        if key in self._matcher:
            self._matcher.unbind(key)
        del self._deciders[key]
        if binding.routing:
            self._by_routing[binding.routing.casefold()].discard(key)

    def forget(self, key: str) -> None:
        """Remove a binding and its counts."""
        self._remove(key)
        self._tallies.pop(key, None)

    def reroute(self, routing: str, directory: Directory) -> None:
        """Bind again those that chose a routing by this name, which has changed."""
        for key in tuple(self._by_routing.get(routing.casefold(), ())):
            self._save(self._bindings[key], directory)

    def select(self, incoming: MatchableMessage) -> SelectedBindings:
        matches = self._matcher.match(incoming)
        decided = [self._bindings[key] for key in sorted(map(str, matches.decided))]
        candidates = sorted(map(str, matches.candidates))
        asked = [(self._bindings[key], decider) for key in candidates if (decider := self._deciders[key]) is not None]
        failed = [self._bindings[key] for key in sorted(map(str, matches.failed))]
        return SelectedBindings(decided, asked, failed, matches.fault)

    @property
    def looks_inside(self) -> bool:
        """Whether any binding looks into messages."""
        return self._matcher.looks_inside

    def tally(self, binding: Binding) -> BindingTally:
        return self._tallies.setdefault(binding_key(binding.exchange, binding.name), BindingTally())

    def is_always_evaluated(self, key: str) -> bool:
        """Return True if the engine evaluates this binding for every message."""
        return key in self._matcher and self._matcher.standing(key) is EvaluationMode.ALWAYS

    def explain(self, binding: Binding) -> DecisionExplanation | None:
        """Explains how a binding is evaluated; None if it never matches."""
        key = binding_key(binding.exchange, binding.name)
        return self._matcher.explain(key) if key in self._matcher else None


def describe_decision(binding: Binding, found: DecisionExplanation | None) -> str:
    """Return the decision as text, also for a binding that takes part in nothing."""
    if found is not None:
        return str(found)
    if not binding.enabled:
        return "disabled"
    return f"the routing {binding.routing} is not installed, so nothing matches"


MAX_PER_EXCHANGE = 100_000
MAX_PER_QUEUE = 10_000  # over all exchanges
MAX_ALWAYS_EVALUATED = 100  # of a queue at one exchange


def find_exceeded_limit(*, of_exchange: int, of_queue: int, always: int) -> str:
    """Return a text about the limit that these numbers of bindings exceed; empty if none.

    The last are the expensive ones: a query that the matcher cannot prefilter is evaluated by the engine for every message.
    """
    if of_exchange > MAX_PER_EXCHANGE:
        return f"An exchange has at most {MAX_PER_EXCHANGE} bindings; bind to another exchange, or combine queries"
    if of_queue > MAX_PER_QUEUE:
        return f"A queue has at most {MAX_PER_QUEUE} bindings; remove some, or combine queries"
    if always > MAX_ALWAYS_EVALUATED:
        return (
            f"Of the bindings of a queue at an exchange, at most {MAX_ALWAYS_EVALUATED} may be evaluated for every message; "
            "add a routing key, or a condition that can be looked up first: `postroad bindings explain` shows which"
        )
    return ""
