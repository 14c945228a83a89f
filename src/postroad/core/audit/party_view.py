"""An explanation cut to what its reader took part in.

Kept rules, the same as in the history: whoever sent a message sees its whole route; others see themselves on it and those that
they brought in, and neither its other recipients nor its other stops; one that was isolated, or brought in by one that was, does
not learn who the sender and the recipient were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from postroad.core.routing.explanation import (
    OF_ANOTHER,
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedService,
    Explanation,
)

Owns = Callable[[str], bool]  # told a GCID
KEPT_BACK = "(kept from you)"


def with_own_rules(explanation: Explanation, owns: Owns) -> Explanation:
    """The whole route, with the rules of one's own services only."""
    return replace(explanation, services=tuple(_withheld_unless(owns, one) for one in explanation.services))


def as_party(explanation: Explanation, owns: Owns, *, hidden: bool = False) -> Explanation | None:
    """What somebody sees of it who is not the sender; None when they had no part in it.

    ``hidden`` asks for the part in which the wider route is kept from them, and otherwise for the rest; never for both.
    """
    cuts = [_Cut(owns, hidden) for _ in explanation.copies]
    copies = tuple(
        copy for cut, one in zip(cuts, explanation.copies, strict=True) if (copy := cut.copy(one)) is not None
    )
    if not copies:
        return None
    isolated = not any(cut.knows_sender for cut in cuts)
    return replace(
        explanation,
        sender=KEPT_BACK if isolated else explanation.sender,
        services=tuple(
            _own_service(one, isolated) for one in explanation.services if owns(one.gcid) and one.isolated == hidden
        ),
        copies=copies,
    )


def takes_part_by_rules(explanation: Explanation, owns: Owns) -> bool:
    """Whether one of their services is on it by its rules alone, so that the message never comes to it."""
    nodes = [node for copy in explanation.copies for node in _every(copy.tree)]
    return any(node.place is None and owns(node.gcid) for node in nodes)


def _withheld_unless(owns: Owns, service: ExplainedService) -> ExplainedService:
    return service if owns(service.gcid) else replace(service, rules=(), faults=(), withheld=True)


def _own_service(service: ExplainedService, isolated: bool) -> ExplainedService:
    return replace(service, invoker=KEPT_BACK) if isolated else service


class _Cut:
    """Cuts one copy; ``knows_sender`` becomes true when one of theirs was brought in without being isolated by others."""

    def __init__(self, owns: Owns, hidden: bool) -> None:
        self._owns = owns
        self._hidden = hidden
        self.knows_sender = False

    def copy(self, copy: ExplainedCopy) -> ExplainedCopy | None:
        tree = tuple(self._nodes(copy.tree, by_own=False, isolated=False))
        if not tree:
            return None
        delivered = sorted((node for node in _every(tree) if node.place is not None), key=lambda node: node.place or 0)
        recipient = copy.recipient if self.knows_sender else KEPT_BACK
        return replace(copy, recipient=recipient, route=tuple(node.service for node in delivered), tree=tree)

    def _nodes(
        self, tree: tuple[ExplainedInvocation, ...], *, by_own: bool, isolated: bool
    ) -> Iterator[ExplainedInvocation]:
        """Their invocations and those that they brought in; others are left out, and what is below them moves up."""
        for node in tree:
            hidden = isolated or (node.isolated and not by_own)
            own = self._owns(node.gcid) and hidden == self._hidden
            below = tuple(self._nodes(node.children, by_own=own, isolated=hidden))
            self.knows_sender |= own and not hidden
            if by_own:
                yield replace(node, children=below)
            elif own:
                yield replace(node, children=below, rule=OF_ANOTHER if node.rule else "", payer="")
            else:
                yield from below


def _every(tree: tuple[ExplainedInvocation, ...]) -> Iterator[ExplainedInvocation]:
    for node in tree:
        yield node
        yield from _every(node.children)
