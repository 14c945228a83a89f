"""Routes of random messages in random networks: what the product calculates and what the plain reference says is the same.

Where the specification leaves room, this is what is meant:

- **Order of trying** (R4, R9). The sender's rules, once a message, on the message as posted; then, depth first, the services
  they include; then the services of an explicit route, each depth first; then every recipient's rules in header order, a
  redirect's target right after the service that redirected; then, recipient by recipient, what they included, depth first.
- **Position** (R5). What a service includes before or after itself stands directly there, in the order of inclusion. A copy
  passes what the sender's rules include, the explicit route, what stands before the recipient, the recipient.
- **Redirect** (R6). A service's first redirect that fires counts, later ones do nothing, its other actions still do. The target
  has the place and the role of the redirecting service, and its arguments unless the action has some. What the redirecting
  service included stays in front of what the target includes. The redirecting service takes part by its rules alone.
- **Topic** (R7). A change holds for everything this very rule brings in; an action's own topic wins over it. What those include
  in turn sees the original topic. A service's conditions see the topic as it is delivered to it.
- **Stop** (R8). The service's further rules are not tried; all actions of the rule that stops still happen.
- **Loop** (R14). A chain of inclusions and redirects that comes back to a service that is in it. Chains begin with the sender
  for what it includes or names on the way, with the recipient for what that includes. A chain has at most 10 services, a copy
  at most 25, those that take part by their rules alone included.
- **Faults** (M8). One in the sender's part refuses the post, one in a recipient's part that copy. Of several faults in one part
  any may be named.
- **Dynamic** (R10). A service whose rules wait is a hop that says so, except where it is a copy's first hop: the message has
  reached it then. Each copy asks for itself, when the rest of its route is known.
- **Contexts** (R12). Who pays and who is shown as sender is handed down until an inclusion says otherwise; absorbing and
  isolating are between a service and what it includes itself.
"""

from __future__ import annotations

import pytest
from hypothesis import event, given, note, settings

from tests.property.routing.amount import NETWORKS, PHASES
from tests.property.routing.networks import Posted, posts
from tests.property.routing.outcomes import Answer, by_product, expected
from tests.property.routing.reference import Reference
from tests.property.routing.visits import Fault


@pytest.mark.req("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R14", "N6", "N11", "M8")
@given(posted=posts())
@settings(max_examples=NETWORKS, phases=PHASES)
def test_the_product_routes_as_the_specification_says(posted: Posted) -> None:
    note(str(posted))
    said = Reference(posted.message, posted.sender, posted.directory)
    answer = by_product(posted)
    if said.outset.faults:
        event("the sender's part is at fault")
        assert may_name(answer.refused, answer.detail, tuple(said.outset.faults), cut=said.outset.cut)
    elif all(way.faults for way in said.ways):
        event("no recipient can be routed to")
        assert may_name(answer.refused, answer.detail, said.ways[0].faults, cut=said.ways[0].cut)
    else:
        assert not answer.refused, answer.detail
        compare(said, answer)


def compare(said: Reference, answer: Answer) -> None:
    for way, outcome in zip(said.ways, answer.outcomes, strict=True):
        if way.faults:
            event("one recipient's part is at fault")
            assert may_name(outcome.code, outcome.detail, way.faults, cut=way.cut)
            assert (outcome.named, outcome.hops) == (way.named, ())
        else:
            event(f"{min(len(way.hops), 10)} hops")
            assert outcome == expected(way)
    compare_tried(said, answer)


def compare_tried(said: Reference, answer: Answer) -> None:
    """The order of trying; how far it goes on behind a fault is not specified, so then something may be missing."""
    if any(way.faults for way in said.ways):
        assert answer.tried[: said.tried_for_sender] == tuple(said.tried[: said.tried_for_sender])
        remaining = iter(said.tried)
        assert all(each in remaining for each in answer.tried)
    else:
        assert answer.tried == tuple(said.tried)


def may_name(code: str, detail: str, faults: tuple[Fault, ...], *, cut: bool) -> bool:
    """Whether the code is that of a fault there is, and a loop is spelled out."""
    if cut and code:
        return True
    return any(code == fault.code and " → ".join(fault.chain) in detail for fault in faults)
