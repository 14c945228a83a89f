"""An explanation cut to what its reader took part in.

Kept rules, the same as in the history: whoever sent a message sees its whole route; others see themselves on it, and neither its
other recipients nor its other stops; one that was isolated does not learn who the sender was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from postroad.core.routing.explanation import ExplainedCopy, ExplainedInvocation, ExplainedService, Explanation

Owns = Callable[[str], bool]  # told a GCID
OF_ANOTHER = "of another organization"
KEPT_BACK = "(kept from you)"


def with_own_rules(explanation: Explanation, owns: Owns) -> Explanation:
    """The whole route, with the rules of one's own services only."""
    return replace(explanation, services=tuple(_withheld_unless(owns, one) for one in explanation.services))


def as_party(explanation: Explanation, owns: Owns) -> Explanation | None:
    """What somebody sees of it who is not the sender; None when they had no part in it."""
    copies = tuple(copy for one in explanation.copies if (copy := _own_copy(one, owns)) is not None)
    if not copies:
        return None
    isolated = all(node.isolated for copy in copies for node in copy.tree)
    return replace(
        explanation,
        sender=KEPT_BACK if isolated else explanation.sender,
        services=tuple(_own_service(one, owns, isolated) for one in explanation.services if owns(one.gcid)),
        copies=copies,
    )


def takes_part_by_rules(explanation: Explanation) -> bool:
    """Whether some service on it is there by its rules alone, so that the message never comes to it."""
    return any(node.place is None for copy in explanation.copies for node in _every(copy.tree))


def _withheld_unless(owns: Owns, service: ExplainedService) -> ExplainedService:
    return service if owns(service.gcid) else replace(service, rules=(), faults=(), withheld=True)


def _own_service(service: ExplainedService, owns: Owns, isolated: bool) -> ExplainedService:
    return replace(_withheld_unless(owns, service), invoker=KEPT_BACK if isolated else service.invoker)


def _own_copy(copy: ExplainedCopy, owns: Owns) -> ExplainedCopy | None:
    tree = tuple(_own_nodes(copy.tree, owns, invoked_by_own=False))
    if not tree:
        return None
    delivered = sorted((node for node in _every(tree) if node.place is not None), key=lambda node: node.place or 0)
    return replace(copy, route=tuple(node.service for node in delivered), tree=tree)


def _own_nodes(
    tree: tuple[ExplainedInvocation, ...], owns: Owns, *, invoked_by_own: bool
) -> Iterator[ExplainedInvocation]:
    """One's own invocations; those between them are left out, and what they brought in moves up."""
    for node in tree:
        own = owns(node.gcid)
        below = tuple(_own_nodes(node.children, owns, invoked_by_own=own))
        if not own:
            yield from below
        elif invoked_by_own:
            yield replace(node, children=below)
        else:
            yield replace(node, children=below, rule=OF_ANOTHER if node.rule else "", payer="")


def _every(tree: tuple[ExplainedInvocation, ...]) -> Iterator[ExplainedInvocation]:
    for node in tree:
        yield node
        yield from _every(node.children)
