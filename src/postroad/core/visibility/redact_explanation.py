"""Redacts the explanation of a route to the part that its reader took part in.

Rules: as in the history, the sender of a message sees its whole route. Other parties see themselves and the services
that they included, but no other recipients or stops. An isolated service, and every service that it included, does
not learn the sender and the recipient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from postroad.core.routing.explain.explanation import (
    FOREIGN_RULE,
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedService,
    RouteExplanation,
)
from postroad.core.visibility.viewer import Viewer

HIDDEN_NAME = "(kept from you)"


def redact_foreign_rules(explanation: RouteExplanation, viewer: Viewer) -> RouteExplanation:
    """Return the whole route with the rules of the reader's own services only."""
    return replace(explanation, services=tuple(_redact_rules(viewer, one) for one in explanation.services))


def redact_explanation(
    explanation: RouteExplanation, viewer: Viewer, *, hidden: bool = False
) -> RouteExplanation | None:
    """Return the part of an explanation visible to a party other than the sender; None if it took no part.

    ``hidden`` selects the part from which the wider route is hidden; otherwise the other part is returned. The two
    are never combined.
    """
    cuts = [_CopyRedactor(viewer, hidden) for _ in explanation.copies]
    copies = tuple(
        copy for cut, one in zip(cuts, explanation.copies, strict=True) if (copy := cut.copy(one)) is not None
    )
    if not copies:
        return None
    isolated = not any(cut.knows_sender for cut in cuts)
    return replace(
        explanation,
        sender=HIDDEN_NAME if isolated else explanation.sender,
        services=tuple(
            _redact_invoker(one, isolated)
            for one in explanation.services
            if viewer.owns(one.gcid) and one.isolated == hidden
        ),
        copies=copies,
    )


def takes_part_by_rules(explanation: RouteExplanation, viewer: Viewer) -> bool:
    """True if a service of the reader takes part through its rules alone and never receives the message."""
    nodes = [node for copy in explanation.copies for node in _walk_invocations(copy.tree)]
    return any(node.place is None and viewer.owns(node.gcid) for node in nodes)


def _redact_rules(viewer: Viewer, service: ExplainedService) -> ExplainedService:
    return service if viewer.owns(service.gcid) else replace(service, rules=(), faults=(), withheld=True)


def _redact_invoker(service: ExplainedService, isolated: bool) -> ExplainedService:
    return replace(service, invoker=HIDDEN_NAME) if isolated else service


class _CopyRedactor:
    """Redacts one copy; ``knows_sender`` becomes True if a service of the reader was added without being isolated."""

    def __init__(self, viewer: Viewer, hidden: bool) -> None:
        self._viewer = viewer
        self._hidden = hidden
        self.knows_sender = False

    def copy(self, copy: ExplainedCopy) -> ExplainedCopy | None:
        tree = tuple(self._nodes(copy.tree, by_own=False, isolated=False))
        if not tree:
            return None
        delivered = sorted(
            (node for node in _walk_invocations(tree) if node.place is not None), key=lambda node: node.place or 0
        )
        recipient = copy.recipient if self.knows_sender else HIDDEN_NAME
        return replace(copy, recipient=recipient, route=tuple(node.service for node in delivered), tree=tree)

    def _nodes(
        self, tree: tuple[ExplainedInvocation, ...], *, by_own: bool, isolated: bool
    ) -> Iterator[ExplainedInvocation]:
        """Yield the reader's invocations and those they added; children of removed nodes move up."""
        for node in tree:
            hidden = isolated or (node.isolated and not by_own)
            own = self._viewer.owns(node.gcid) and hidden == self._hidden
            below = tuple(self._nodes(node.children, by_own=own, isolated=hidden))
            self.knows_sender |= own and not hidden
            if by_own:
                yield replace(node, children=below)
            elif own:
                yield replace(node, children=below, rule=FOREIGN_RULE if node.rule else "", payer="")
            else:
                yield from below


def _walk_invocations(tree: tuple[ExplainedInvocation, ...]) -> Iterator[ExplainedInvocation]:
    for node in tree:
        yield node
        yield from _walk_invocations(node.children)
