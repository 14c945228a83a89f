"""Budgets that limit what the rules of each organization may cost for one message.

Rule: all services of an organization share one part of a message's budget. A hostile document, or thousands of
careless rules, cost the same whether one service or many have them, and no organization can use up what another one's
rules need.

A budget can also limit the total work that may be done at once. A message that needs more raises ``TooMuchAtOnce``;
the caller then starts again with a budget without that limit, off the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from postroad.core.routing.paths.xml_walk import Look, TooManyNodes

CANONICAL_CHARS = 500_000  # of canonical content, for all conditions together
MATCHED_CHARS = 1_000_000  # that patterns search, for all conditions together
MAX_LOOKED = 1_000_000  # nodes that paths visit, for all conditions together
AT_ONCE = 20_000  # steps, each about as expensive as visiting a node (0.2 µs): about 4 ms

# The cost of work in steps.
CHARS_A_STEP = 4  # of a parsed document, a searched text or canonical content
CONDITION_STEPS = 4  # to evaluate one
COMPILING_STEPS = 100  # to compile one
PATTERN_STEPS = 10_000  # to compile one with a pattern

Write = Callable[[int, Look], str]  # returns content cut to a length, and counts the characters read beyond it


class TooMuchAtOnce(Exception):
    """The rules of a message need more work than may be done at once."""


class Budget:
    """The shares of all organizations for one message."""

    __slots__ = ("_left_at_once", "_shares")

    def __init__(self, at_once: int | None = None) -> None:
        self._left_at_once = at_once
        self._shares: dict[str, OrganizationShare] = {}

    def share_of(self, owner: str) -> OrganizationShare:
        """Return the share of one organization."""
        found = self._shares.get(owner)
        if found is None:
            found = self._shares[owner] = OrganizationShare(self)
        return found

    @property
    def left_at_once(self) -> int | None:
        """Return how many steps are left of the limit, or None without a limit."""
        return self._left_at_once

    def spend(self, steps: int) -> None:
        """Count work; raises TooMuchAtOnce if it exceeds the limit."""
        if self._left_at_once is not None:
            self._left_at_once -= steps
            if self._left_at_once < 0:
                raise TooMuchAtOnce


class OrganizationShare:
    __slots__ = ("_canonical_left", "_looked_left", "_matched_left", "budget", "faults")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.faults: list[str] = []
        self._canonical_left = CANONICAL_CHARS
        self._matched_left = MATCHED_CHARS
        self._looked_left = MAX_LOOKED

    @property
    def is_looked_up(self) -> bool:
        """Whether the share for following paths is used up."""
        return self._looked_left < 0

    def look(self, nodes: int) -> None:
        """Count the nodes that a path visits; raises TooManyNodes when the share is used up."""
        self.budget.spend(nodes)
        self._looked_left -= nodes
        if self._looked_left < 0:
            self._note(f"paths may pass at most {MAX_LOOKED} nodes per message")
            raise TooManyNodes

    def may_compare(self, texts: int) -> bool:
        """Whether a condition may compare this many texts; False when the share is used up."""
        try:
            self.look(texts)
        except TooManyNodes:
            return False
        return True

    def may_match(self, texts: Iterable[str]) -> bool:
        """Whether patterns may still search these texts."""
        chars = sum(map(len, texts))
        self.budget.spend(chars // CHARS_A_STEP)
        self._matched_left -= chars
        if self._matched_left < 0:
            self._note(f"patterns may read at most {MATCHED_CHARS} characters per message")
        return self._matched_left >= 0

    def canonical(self, write: Write, most: int) -> str:
        """Return canonical content while the share lasts; characters read beyond the cut are counted by ``look``."""
        if self._canonical_left <= 0:
            self._note(f"at most {CANONICAL_CHARS} characters of element content are compared per message")
            return ""
        try:
            text = write(most, self.look)
        except TooManyNodes:
            return ""
        self.budget.spend(len(text) // CHARS_A_STEP)
        self._canonical_left -= len(text)
        return text

    def _note(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)
