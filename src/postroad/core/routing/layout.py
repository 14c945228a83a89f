"""Converts a tree of invocations to the route of one copy: its services in the order of delivery, with their contexts.

Rule: a route that needs only names and arguments stores only these; contexts are stored only if rules changed the
route.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postroad.core.model.directory import Service
from postroad.core.model.route import Context, Hop
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.rules.evaluation import MAX_HOPS, route_too_long
from postroad.errors import Refused


class Route(NamedTuple):
    """The route of one copy: the services it is delivered to, the recipient last, and those that only apply rules."""

    hops: tuple[Hop, ...]
    logical: tuple[Hop, ...]


def lay_out(roots: Sequence[Invocation], numbers: dict[Invocation, int] | None = None, free: int = 1) -> Route:
    """Return the route through these trees, one after the other.

    Invocations are numbered from ``free`` on in the order of the tree; ``numbers`` contains existing numbers, and the
    sender is 0.
    """
    numbered = number_invocations(roots, numbers or {}, free)
    order = [node for root in roots for node in root.in_order()]
    if len(order) > MAX_HOPS:
        raise route_too_long(order[-1].shown_address)
    plain = numbers is None and all(needs_no_context(node) for node in order)
    hops = [(node, _hop(node, None if plain else numbered)) for node in order]
    return Route(
        tuple([hop for node, hop in hops if node.is_delivered]),
        tuple([hop for node, hop in hops if not node.is_delivered]),
    )


def needs_no_context(node: Invocation) -> bool:
    """Whether nothing about this invocation needs a context."""
    return not (node.rule or node.dynamic or node.target or node.included or node.service.logical_only)


def number_invocations(
    roots: Iterable[Invocation], known: dict[Invocation, int], following: int
) -> dict[Invocation, int]:
    """Return a number for every invocation, invokers before the services they invoke."""
    numbers = dict(known)
    todo = list(roots)
    while todo:
        node = todo.pop(0)
        if node not in numbers:
            numbers[node] = following
            following += 1
        todo[:0] = [*node.included, node.target] if node.target is not None else node.included
    return numbers


def _hop(node: Invocation, numbers: dict[Invocation, int] | None) -> Hop:
    invoker = node.invoker.service.gcid if node.invoker else ""
    context = _context(node, numbers) if numbers is not None else None
    return Hop(node.service.gcid, node.arguments, invoker, context)


def _context(node: Invocation, numbers: dict[Invocation, int]) -> Context:
    return Context(
        id=numbers[node],
        parent=numbers.get(node.invoker, 0) if node.invoker else 0,
        topic=node.topic,
        payer=node.payer,
        shown_sender=node.shown_sender,
        absorbs=node.absorbs,
        rule=node.rule,
        dynamic=node.dynamic,
        through=node.through,
        isolated=node.isolated,
    )


def services_of(roots: Iterable[Invocation]) -> tuple[Service, ...]:
    """Return all services in these trees, delivered to or not."""
    return tuple([node.service for root in roots for node in root.in_order()])


def check_delivered(recipient: Invocation) -> None:
    """Refuse a rules-only recipient that does not forward the message."""
    last = recipient
    while last.target is not None:
        last = last.target
    if last.service.logical_only and not last.dynamic:
        raise Refused(
            "route.invalid",
            f"The message would end at {last.shown_address}, a rules-only service, because none of its rules redirected it; "
            "send it to another service, or ask its owner",
        )
