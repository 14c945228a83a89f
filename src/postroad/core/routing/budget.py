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

CANONICAL_CHARS = 500_000  # that are written out, all conditions together
MATCHED_CHARS = 1_000_000  # that patterns look at, all conditions together
MAX_LOOKED = 1_000_000  # nodes that paths pass, all conditions together
AT_ONCE = 20_000  # steps, each about as expensive as visiting a node (0.2 µs): some 4 ms

# What work costs in steps.
CHARS_A_STEP = 4  # of a document that is parsed, of a text that a pattern looks at, of content that is written out
CONDITION_STEPS = 4  # to try one
COMPILING_STEPS = 100  # to compile one
PATTERN_STEPS = 10_000  # to compile one with a pattern

Write = Callable[[int, Look], str]  # writes a content out, cut to this many characters, and counts what it reads beyond


class TooMuchAtOnce(Exception):
    """The rules of a message need more work than is done at once."""


class Budget:
    """The shares of all organizations for one message."""

    __slots__ = ("_left_at_once", "_shares")

    def __init__(self, at_once: int | None = None) -> None:
        self._left_at_once = at_once
        self._shares: dict[str, OrganizationShare] = {}

    def share_of(self, owner: str) -> OrganizationShare:
        """The share of one organization."""
        found = self._shares.get(owner)
        if found is None:
            found = self._shares[owner] = OrganizationShare(self)
        return found

    @property
    def left_at_once(self) -> int | None:
        """Return how many steps are left of the limit, or None without a limit."""
        return self._left_at_once

    def spend(self, steps: int) -> None:
        """Count work; raises TooMuchAtOnce where there is a limit and this is more."""
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
        """Whether no path is followed any more."""
        return self._looked_left < 0

    def look(self, nodes: int) -> None:
        """Count the nodes that a path passes; raises TooManyNodes when the share is used up."""
        self.budget.spend(nodes)
        self._looked_left -= nodes
        if self._looked_left < 0:
            self._note(f"paths may pass at most {MAX_LOOKED} nodes per message")
            raise TooManyNodes

    def may_compare(self, texts: int) -> bool:
        """Whether a condition may compare as many texts; false when the share is used up."""
        try:
            self.look(texts)
        except TooManyNodes:
            return False
        return True

    def may_match(self, texts: Iterable[str]) -> bool:
        """Whether patterns may still look at these texts."""
        chars = sum(map(len, texts))
        self.budget.spend(chars // CHARS_A_STEP)
        self._matched_left -= chars
        if self._matched_left < 0:
            self._note(f"patterns may read at most {MATCHED_CHARS} characters per message")
        return self._matched_left >= 0

    def canonical(self, write: Write, most: int) -> str:
        """A content written out, as long as the share lasts; what is read without being written is counted as looking."""
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
