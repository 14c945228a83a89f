"""What holds for every route, whatever the rules say; read off the product's own answer, without the reference.

Invocations are numbered within a copy and say which one brought them in, so every chain of inclusions can be walked back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, note, settings

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import ActionKind
from postroad.core.model.snapshot import Directory
from postroad.core.routing.itinerary import Routed, itineraries
from postroad.errors import Refused
from tests.property.routing.amount import FEWER, PHASES
from tests.property.routing.networks import Posted, directory_with, posts
from tests.property.routing.outcomes import admitted
from tests.property.routing.reference import MAX_CHAIN, MAX_HOPS

every_network = settings(max_examples=FEWER, phases=PHASES)
EARLIER = {ActionKind.ADD_SERVICE_BEFORE}
LATER = {ActionKind.ADD_SERVICE_AFTER}


def routed(posted: Posted) -> Routed | str:
    try:
        return itineraries(admitted(posted), posted.directory)
    except Refused as refused:
        return str(refused)


def routes(posted: Posted) -> Iterator[Copy]:
    note(str(posted))
    answer = routed(posted)
    if not isinstance(answer, str):
        yield from (copy for copy in answer.copies if not copy.code)


def chain_of(hop: Hop, copy: Copy) -> list[Hop]:
    """The hop, who brought it in, who brought that in …, as far as somebody but the sender did."""
    numbered = {each.context.id: each for each in (*copy.hops, *copy.logical) if each.context is not None}
    chain = [hop]
    while (context := chain[-1].context) is not None and context.parent:
        chain.append(numbered[context.parent])
    return chain


@pytest.mark.req("R10", "R14")
@given(posted=posts())
@every_network
def test_the_same_message_under_the_same_rules_gets_the_same_route(posted: Posted) -> None:
    """Also when nothing is remembered from the first time, and in a directory that was written in another order."""
    first = routed(posted)
    assert routed(posted) == first
    backwards = directory_with(
        *posted.directory.organizations.values(),
        *reversed([*posted.directory.rules.values()]),
        *reversed([*posted.directory.services.values()]),
    )
    assert routed(Posted(message=posted.message, sender=posted.sender, directory=backwards)) == first


@pytest.mark.req("R14")
@given(posted=posts())
@every_network
def test_no_chain_passes_a_service_twice_and_none_is_too_long(posted: Posted) -> None:
    for copy in routes(posted):
        assert len(copy.hops) + len(copy.logical) <= MAX_HOPS
        for hop in (*copy.hops, *copy.logical):
            chain = [each.service for each in chain_of(hop, copy)]
            assert len(set(chain)) == len(chain) <= MAX_CHAIN


@pytest.mark.req("R12")
@given(posted=posts())
@every_network
def test_every_invocation_has_a_number_of_its_own_and_names_who_brought_it_in(posted: Posted) -> None:
    for copy in routes(posted):
        numbered = [each.context.id for each in (*copy.hops, *copy.logical) if each.context is not None]
        assert len(set(numbered)) == len(numbered)
        for hop in (*copy.hops, *copy.logical):
            chain = chain_of(hop, copy)
            assert hop.invoker == (chain[1].service if len(chain) > 1 else posted.sender.gcid)


@pytest.mark.req("N5", "N11", "R14")
@given(posted=posts())
@every_network
def test_every_hop_accepts_who_brought_it_in_and_nobody_brings_in_without_permission(posted: Posted) -> None:
    for copy in routes(posted):
        for hop in (*copy.hops, *copy.logical):
            invoker = posted.directory.services[hop.invoker]
            fresh = directory_with(*posted.directory.organizations.values(), *posted.directory.services.values())
            assert find_permitted_recipient(invoker, hop.service, fresh).gcid == hop.service
            assert invoker.may_include_services or not (hop.context and hop.context.rule)


@pytest.mark.req("R6", "M8")
@given(posted=posts())
@every_network
def test_a_copy_ends_with_its_recipient_or_with_who_stands_in_for_it(posted: Posted) -> None:
    for copy in routes(posted):
        last = copy.hops[-1]
        through = last.context.through if last.context else ()
        named = posted.directory.service(copy.named)
        assert named is not None
        assert [*through, last.service][0] == named.gcid


@pytest.mark.req("R9")
@given(posted=posts())
@every_network
def test_an_explicit_route_is_passed_in_its_order(posted: Posted) -> None:
    """All of its services take part, by their rules alone where they are like that; the others stand in the given order."""
    named = [service.gcid for stop in posted.message.route if (service := posted.directory.service(stop.service))]
    for copy in routes(posted):
        delivered = [hop.service for hop in copy.hops[:-1] if is_named(hop, posted)]
        logical = [hop.service for hop in copy.logical if is_named(hop, posted)]
        expected = iter(named)
        assert all(each in expected for each in delivered)
        assert Counter(named) <= Counter([*delivered, *logical])


def is_named(hop: Hop, posted: Posted) -> bool:
    return hop.invoker == posted.sender.gcid and not (hop.context and hop.context.rule)


@pytest.mark.req("R4", "R5")
@given(posted=posts())
@every_network
def test_what_is_included_stands_on_the_side_that_its_action_says(posted: Posted) -> None:
    for copy in routes(posted):
        places = {each.context.id: place for place, each in enumerate(copy.hops) if each.context is not None}
        for place, hop in enumerate(copy.hops):
            chain = chain_of(hop, copy)
            if len(chain) < 2 or hop.context is None or hop.context.parent not in places:
                continue
            kinds = kinds_that_bring_in(hop, posted.directory)
            if kinds <= EARLIER | {ActionKind.ADD_SERVICE}:
                assert place < places[hop.context.parent]
            if kinds <= LATER:
                assert place > places[hop.context.parent]


def kinds_that_bring_in(hop: Hop, directory: Directory) -> set[ActionKind]:
    assert hop.context is not None
    rule = directory.rules[hop.context.rule]
    named = [(action.kind, directory.service(action.service)) for action in rule.then if action.service]
    return {kind for kind, service in named if service is not None and service.gcid == hop.service}
