"""A route as rows: every invocation of a copy in the order of delivery, with its invoker and depth.

The drawing and the text use the same rows, so they always agree. A service that takes part only by its rules has no
turn of its own; its row is placed before the first service that it included, or next to its invoker. Turns count only
what the reader sees, so that gaps reveal nothing hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from postroad.core.routing.explain.explanation import ExplainedCopy, ExplainedInvocation


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRow:
    """One row of a route; ``invoker`` is the row number of the invoker, None for the sender."""

    service: str
    depth: int
    invoker: int | None
    turn: int | None  # counted from 1; None: not delivered to
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlacedInvocation:
    invocation: ExplainedInvocation
    depth: int
    parent: ExplainedInvocation | None
    key: tuple[int, int]


def route_rows(sender: str, copy: ExplainedCopy) -> list[RouteRow]:
    """Return the sender, then every service on the route in the order of delivery, the recipient last."""
    standing = sorted(_standing(copy.tree, None, 1, -1), key=lambda one: one.key)
    numbers = {id(one.invocation): number for number, one in enumerate(standing, 1)}
    turns = count(1)
    rows = [RouteRow(service=sender, depth=0, invoker=None, turn=None)]
    for one in standing:
        invocation = one.invocation
        rows.append(
            RouteRow(
                service=invocation.service,
                depth=one.depth,
                invoker=numbers[id(one.parent)] if one.parent is not None else 0,
                turn=None if invocation.place is None else next(turns),
                notes=tuple(invocation_notes(invocation)),
            )
        )
    return rows


def _standing(
    tree: tuple[ExplainedInvocation, ...], parent: ExplainedInvocation | None, depth: int, above: int
) -> list[_PlacedInvocation]:
    found = []
    for invocation in tree:
        place = invocation.place if invocation.place is not None else _first_place(invocation.children, above)
        key = (place, 1 if invocation.place is not None else 0 if place >= 0 else 2)
        found.append(_PlacedInvocation(invocation=invocation, depth=depth, parent=parent, key=key))
        found += _standing(invocation.children, invocation, depth + 1, place)
    return found


def _first_place(children: tuple[ExplainedInvocation, ...], above: int) -> int:
    """Return the first turn among the children, or the turn above if there is none."""
    places = [child.place if child.place is not None else _first_place(child.children, -1) for child in children]
    known = [place for place in places if place >= 0]
    return min(known) if known else above


def invocation_notes(invocation: ExplainedInvocation) -> list[str]:
    """Return what is special about an invocation, in words."""
    arguments = ", ".join(f"{argument.name}={argument.value}" for argument in invocation.arguments)
    told = [
        f"rule {invocation.rule}" if invocation.rule else "named by the sender",
        "rules-only service" if invocation.place is None else "",
        "redirected to" if invocation.redirected else "",
        f"topic {invocation.topic}" if invocation.topic else "",
        arguments,
        f"paid by {invocation.payer}" if invocation.payer else "",
        "isolated" if invocation.isolated else "",
        "its errors are ignored" if invocation.absorbs else "",
        "its rules are evaluated when the message reaches it" if invocation.dynamic else "",
    ]
    return [note for note in told if note]
