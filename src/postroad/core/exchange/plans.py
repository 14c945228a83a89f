"""Plans: what is decided about a query once, for all keys that are bound with it.

Kept rule: bindings with the same query behind the same routing key have one plan, so that the hundredth costs a place in the
tree and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.exchange.decision import EVERYTHING, Decision, Standing, behind, decide, unread
from postroad.core.exchange.doubts import doubts_about
from postroad.core.exchange.questions import Questions
from postroad.core.exchange.tree import Placement, placement


class Wanted(NamedTuple):
    """What a binding asks for: a query, a routing key, both, or that something else than a query decides."""

    query: str
    routing_key: str | None
    always: bool

    def decision(self) -> Decision:
        decision = self._without_routing_key()
        return decision if self.routing_key is None else behind(decision, self.routing_key)

    def _without_routing_key(self) -> Decision:
        if self.always:
            return unread("a script or a function decides")
        return decide(self.query) if self.query else EVERYTHING


class Plan:
    __slots__ = ("doubts", "is_shared", "keys", "placements", "standing", "wanted")

    def __init__(self, wanted: Wanted, questions: Questions) -> None:
        decision = wanted.decision()
        self.wanted = wanted
        self.standing = decision.standing
        self.is_shared = decision.standing is Standing.SHARED
        self.doubts = doubts_about(literal for one in decision.normal.conjunctions for literal in one)
        self.placements: tuple[Placement, ...] = tuple(
            placement(one, questions) for one in decision.normal.conjunctions
        )
        self.keys = 0  # that are bound with it

    def let_go(self, questions: Questions) -> None:
        for place in self.placements:
            for probe, constant in place.probes():
                questions.let_go(probe, constant)
