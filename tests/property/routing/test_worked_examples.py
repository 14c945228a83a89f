"""Routes worked out by hand from the specification; the reference must give them, and so must the product.

They hold the reference itself to something: a naive evaluator can be naively wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.core.model.directory import Routing, Service, Visibility
from postroad.core.model.message import Argument, Message, Recipient
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from tests.property.routing.networks import Posted, directory_with
from tests.property.routing.outcomes import Answer, by_product, by_reference
from tests.property.routing.random_conditions import ALWAYS

Calculation = Callable[[Posted], Answer]
NAMES = ("S", "A", "B", "C", "D", "R", "Q")
S, A, B, C, D, R, Q = NAMES
AFTER, BEFORE, ADD = ActionKind.ADD_SERVICE_AFTER, ActionKind.ADD_SERVICE_BEFORE, ActionKind.ADD_SERVICE
REDIRECT, STOP, TOPIC = ActionKind.REDIRECT, ActionKind.STOP_RULE_EVALUATION, ActionKind.CHANGE_TOPIC


@pytest.fixture(params=[by_reference, by_product], ids=["reference", "product"])
def calculate(request: pytest.FixtureRequest) -> Calculation:
    calculation: Calculation = request.param
    return calculation


def do(kind: ActionKind, service: str = "", *, topic: str = "", arguments: str = "", **context: bool) -> RuleAction:
    address = f"Net/{service}" if service else ""
    given = tuple(Argument(each, "") for each in arguments)
    return RuleAction(kind=kind, service=address, topic=topic, arguments=given, **context)


class Net:
    """Services called by one letter; S sends. Rules are tried in the order in which they are written here."""

    def __init__(self, names: tuple[str, ...] = NAMES) -> None:
        self.services = {
            name: Service(gcid=f"{number:016x}", organization="Net", name=name, visibility=Visibility.PUBLIC)
            for number, name in enumerate(names, 1)
        }
        self.rules: list[Rule] = []

    def profile(self, name: str, **profile: object) -> Net:
        old = self.services[name]
        self.services[name] = Service(
            gcid=old.gcid, organization="Net", name=name, visibility=Visibility.PUBLIC, **profile  # type: ignore[arg-type]
        )  # fmt: skip
        return self

    def rule(
        self,
        owner: str,
        *then: RuleAction,
        role: RuleRole = RuleRole.ANY,
        when: Condition = ALWAYS,
        enabled: bool = True,
    ) -> Net:
        number = len(self.rules)
        self.rules.append(
            Rule(
                service=self.services[owner].gcid,
                name=f"{owner}{number}",
                place=number,
                role=role,
                when=when,
                then=then,
                enabled=enabled,
            )
        )
        return self

    def post(
        self, *to: str, route: tuple[str, ...] = (), topic: str = "t", arguments: str = "", routing: str = ""
    ) -> Posted:
        given = tuple(Argument(each, "") for each in arguments)
        message = Message(
            to=tuple(Recipient(f"Net/{each}", given) for each in to),
            route=tuple(Recipient(f"Net/{each}") for each in route),
            topic=topic,
            routing=routing,
        )
        directory = directory_with(*self.services.values(), *self.rules)
        return Posted(message=message, sender=directory.services[self.services[S].gcid], directory=directory)

    def letter(self, gcid: str) -> str:
        return next(name for name, service in self.services.items() if service.gcid == gcid)

    def route(self, answer: Answer, copy: int = 0) -> str:
        """``A B* R``: the hops in order, one whose rules have not been tried yet with a star."""
        outcome = answer.outcomes[copy]
        return " ".join(self.letter(hop.service) + "*" * hop.dynamic for hop in outcome.hops)

    def logical(self, answer: Answer) -> str:
        return " ".join(sorted(self.letter(stop.service) for stop, _ in answer.outcomes[0].logical))

    def tried(self, answer: Answer) -> str:
        return " ".join(each.rule for each in answer.tried)


def topic_is(topic: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="topic"), values=(topic,)
    )


@pytest.mark.req("R4", "S5")
def test_the_purchase_order_passes_what_its_sender_and_then_what_its_recipient_asked_for(
    calculate: Calculation,
) -> None:
    """Three services by rules of the sender, the filter by a rule of the recipient."""
    net = Net().rule(S, do(AFTER, A), do(AFTER, B)).rule(S, do(ADD, C)).rule(R, do(ADD, D))
    answer = calculate(net.post(R))
    assert net.route(answer) == "A B C D R"
    assert net.tried(answer) == "S0 S1 R2"


@pytest.mark.req("R4")
def test_rules_are_tried_level_by_level_and_depth_first_within_a_part(calculate: Calculation) -> None:
    """A and its own inclusions come before B; all recipients come before what any of them included."""
    net = Net().rule(S, do(ADD, A), do(ADD, B)).rule(A, do(ADD, C), role=RuleRole.IN_TRANSIT).rule(B, do(STOP))
    net.rule(C, do(STOP)).rule(R, do(ADD, D)).rule(Q, do(STOP)).rule(D, do(STOP))
    answer = calculate(net.post(R, Q))
    assert net.tried(answer) == "S0 A1 C3 B2 R4 Q5 D6"
    assert [net.route(answer, copy) for copy in (0, 1)] == ["C A B D R", "C A B Q"]


@pytest.mark.req("R5")
def test_what_a_service_in_transit_includes_stands_next_to_it(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A)).rule(A, do(AFTER, B), do(BEFORE, C), do(AFTER, D), do(ADD, Q))
    assert net.route(calculate(net.post(R))) == "C Q A B D R"


@pytest.mark.req("R5", "R14")
@pytest.mark.parametrize(("owner", "kind"), [(S, BEFORE), (S, REDIRECT), (R, AFTER)])
def test_an_action_that_does_not_fit_the_role_spoils_the_route_when_its_rule_fires(
    owner: str, kind: ActionKind, calculate: Calculation
) -> None:
    assert calculate(Net().rule(owner, do(kind, A)).post(R)).refused == "route.invalid"
    silent = Net().rule(owner, do(kind, A), when=topic_is("other"))
    assert silent.route(calculate(silent.post(R))) == "R"


@pytest.mark.req("R6", "N6")
def test_a_redirect_puts_another_service_in_the_recipients_place(calculate: Calculation) -> None:
    """What the redirecting one included stays in front; only its first redirect counts; it takes part by its rules alone."""
    net = Net().rule(R, do(REDIRECT, Q), do(ADD, A)).rule(R, do(REDIRECT, D), do(ADD, B)).rule(Q, do(ADD, C))
    answer = calculate(net.post(R, arguments="x"))
    assert net.route(answer) == "A B C Q"
    assert net.tried(answer) == "R0 R1 Q2"
    last = answer.outcomes[0].hops[-1]
    assert (net.letter(last.invoker), [net.letter(each) for each in last.through]) == (R, [R])
    assert last.arguments == (Argument("x", ""),)
    assert net.logical(answer) == R


@pytest.mark.req("R6")
def test_a_service_in_transit_may_be_redirected_too_and_again(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A, arguments="x"), do(ADD, Q)).rule(A, do(BEFORE, D), do(REDIRECT, B))
    net.rule(B, do(REDIRECT, C, arguments="y"), do(AFTER, D), role=RuleRole.IN_TRANSIT)
    answer = calculate(net.post(R))
    assert net.route(answer) == "D C D Q R"
    stand_in = answer.outcomes[0].hops[1]
    assert [net.letter(each) for each in stand_in.through] == [A, B]
    assert stand_in.arguments == (Argument("y", ""),)


@pytest.mark.req("R6")
def test_what_a_redirecting_service_included_stands_in_front_on_both_sides(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A)).rule(A, do(AFTER, C), do(BEFORE, D), do(REDIRECT, B))
    net.rule(B, do(BEFORE, Q), do(AFTER, Q))
    assert net.route(calculate(net.post(R))) == "D Q B C Q R"


@pytest.mark.req("R7")
def test_a_changed_topic_is_for_what_this_rule_brings_in_and_for_nobody_behind_it(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A), do(TOPIC, topic="u"), do(ADD, B, topic="v")).rule(S, do(ADD, C))
    net.rule(A, do(ADD, D), when=topic_is("u"))
    answer = calculate(net.post(R))
    assert net.route(answer) == "D A B C R"
    assert [hop.topic for hop in answer.outcomes[0].hops] == ["t", "u", "v", "t", "t"]


@pytest.mark.req("R8")
def test_stopping_ends_a_services_rules_but_not_the_rules_actions_or_the_next_service(calculate: Calculation) -> None:
    net = Net().rule(S, do(STOP), do(ADD, A)).rule(S, do(ADD, B)).rule(R, do(ADD, C))
    answer = calculate(net.post(R))
    assert (net.route(answer), net.tried(answer)) == ("A C R", "S0 R2")


@pytest.mark.req("R9")
def test_an_explicit_route_is_elaborated_by_rules(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A)).rule(B, do(ADD, D)).rule(C, do(STOP)).rule(D, do(STOP)).rule(A, do(STOP))
    answer = calculate(net.post(R, route=(B, C)))
    assert net.route(answer) == "A D B C R"
    assert net.tried(answer) == "S0 A4 B1 D3 C2"


@pytest.mark.req("R1")
def test_rules_that_are_off_or_for_another_role_are_not_tried(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A), enabled=False).rule(S, do(ADD, B), role=RuleRole.RECIPIENT)
    net.rule(R, do(ADD, C), role=RuleRole.IN_TRANSIT)
    answer = calculate(net.post(R))
    assert (net.route(answer), net.tried(answer)) == ("R", "")


@pytest.mark.req("R14")
def test_a_loop_is_refused_with_its_chain_but_the_same_service_twice_is_no_loop(calculate: Calculation) -> None:
    net = Net().rule(S, do(ADD, A)).rule(A, do(ADD, B)).rule(B, do(ADD, A), role=RuleRole.IN_TRANSIT)
    answer = calculate(net.post(R))
    assert answer.refused == "route.loop"
    assert "Net/S → Net/A → Net/B → Net/A" in answer.detail
    twice = Net().rule(S, do(ADD, A), do(ADD, B)).rule(B, do(ADD, A))
    assert twice.route(calculate(twice.post(R))) == "A A B R"


@pytest.mark.req("R14")
def test_a_chain_of_redirects_that_comes_back_is_a_loop(calculate: Calculation) -> None:
    net = Net().rule(R, do(REDIRECT, Q), role=RuleRole.RECIPIENT).rule(Q, do(REDIRECT, R), role=RuleRole.RECIPIENT)
    answer = calculate(net.post(R))
    assert answer.refused == "route.loop"
    assert "Net/R → Net/Q → Net/R" in answer.detail


def test_a_service_may_send_to_itself_and_be_redirected_back_to(calculate: Calculation) -> None:
    net = Net().rule(R, do(REDIRECT, S))
    answer = calculate(net.post(S, R))
    assert [net.route(answer, copy) for copy in (0, 1)] == ["S", "S"]


@pytest.mark.req("R14")
@pytest.mark.parametrize(("length", "refused"), [(10, ""), (11, "route.too-deep")])
def test_a_chain_has_at_most_ten_services(length: int, refused: str, calculate: Calculation) -> None:
    chain = tuple(f"n{number}" for number in range(length - 1))
    net = Net((*NAMES, *chain))
    for one, next_one in zip((S, *chain[:-1]), chain, strict=True):
        net.rule(one, do(ADD, next_one))
    assert calculate(net.post(R)).refused == refused


@pytest.mark.req("R14")
@pytest.mark.parametrize(("hops", "refused"), [(25, ""), (26, "route.too-long")])
def test_a_copy_passes_at_most_25_services(hops: int, refused: str, calculate: Calculation) -> None:
    """Those that only take part by their rules count too."""
    net = Net().rule(S, *[do(ADD, A)] * (hops - 3)).rule(R, do(ADD, B), do(ADD, C)).profile(C, logical_only=True)
    assert calculate(net.post(R)).refused == refused


@pytest.mark.req("R11")
def test_a_logical_service_takes_part_by_its_rules_alone(calculate: Calculation) -> None:
    net = Net().profile(A, logical_only=True).rule(S, do(ADD, A)).rule(A, do(BEFORE, B), do(AFTER, C))
    answer = calculate(net.post(R))
    assert (net.route(answer), net.logical(answer)) == ("B C R", "A")


@pytest.mark.req("R11", "M8")
def test_a_logical_recipient_must_redirect(calculate: Calculation) -> None:
    net = Net().profile(R, logical_only=True)
    assert [each.code for each in calculate(net.post(R, Q)).outcomes] == ["route.invalid", ""]
    net.rule(R, do(REDIRECT, A))
    answer = calculate(net.post(R))
    assert (net.route(answer), net.logical(answer)) == ("A", "R")


@pytest.mark.req("M8")
def test_a_fault_of_one_recipient_is_that_copys_alone_and_one_of_the_sender_is_everybodys(
    calculate: Calculation,
) -> None:
    net = Net().profile(A, suspended="unpaid").rule(R, do(ADD, A))
    answer = calculate(net.post(R, Q))
    assert [each.code for each in answer.outcomes] == ["recipient.suspended", ""]
    net.rule(S, do(ADD, A))
    assert calculate(net.post(R, Q)).refused == "recipient.suspended"


@pytest.mark.req("N5", "R14")
def test_a_service_that_may_not_include_others_spoils_the_route_when_it_does(calculate: Calculation) -> None:
    net = Net().profile(R, may_include_services=False)
    assert net.route(calculate(net.post(R))) == "R"
    assert calculate(net.rule(R, do(ADD, A)).post(R)).refused == "route.invalid"


@pytest.mark.req("R10")
def test_a_dynamic_service_waits_for_the_message_unless_it_is_the_first_to_get_it(calculate: Calculation) -> None:
    net = Net().profile(A, routing=Routing.DYNAMIC).rule(A, do(ADD, B)).rule(S, do(ADD, C), when=topic_is("late"))
    net.rule(S, do(ADD, A))
    late, first = calculate(net.post(R, topic="late")), calculate(net.post(R))
    assert (net.route(late), net.tried(late)) == ("C A* R", "S1 S2")
    assert (net.route(first), net.tried(first)) == ("B A R", "S1 S2 A0")


@pytest.mark.req("R10")
def test_the_message_may_choose_for_every_service(calculate: Calculation) -> None:
    net = Net().profile(A, routing=Routing.DYNAMIC).rule(S, do(ADD, C), do(ADD, A)).rule(A, do(ADD, B))
    static, dynamic = calculate(net.post(R, routing="static")), calculate(net.post(R, routing="dynamic"))
    assert net.route(static) == "C B A R"
    assert net.route(dynamic) == "C A* R*"


@pytest.mark.req("R10")
def test_what_a_first_dynamic_service_puts_before_itself_is_first_then_and_asked_as_well(
    calculate: Calculation,
) -> None:
    net = Net().rule(S, do(ADD, A)).rule(A, do(BEFORE, B), do(AFTER, C)).rule(B, do(BEFORE, D))
    answer = calculate(net.post(R, routing="dynamic"))
    assert net.route(answer) == "D B A C* R*"


@pytest.mark.req("R6", "R10")
@pytest.mark.parametrize("routing", [Routing.STATIC, Routing.DYNAMIC])
@pytest.mark.parametrize(("logical", "route"), [(False, "B C D R"), (True, "C D R")])
def test_a_dynamic_service_that_is_first_stands_where_it_would_have_stood_statically(
    routing: Routing, logical: bool, route: str, calculate: Calculation
) -> None:
    """A redirects to B: what A added after itself stays in front of what B adds, also where B's rules are tried later."""
    net = Net().profile(B, routing=routing, logical_only=logical)
    net.rule(S, do(ADD, A)).rule(A, do(AFTER, C), do(REDIRECT, B)).rule(B, do(AFTER, D))
    assert net.route(calculate(net.post(R))) == route


@pytest.mark.req("R6", "R10")
@pytest.mark.parametrize("routing", ["static", "dynamic"])
def test_redirects_that_are_found_one_after_the_other_lead_to_the_same_route(
    routing: str, calculate: Calculation
) -> None:
    net = Net().rule(S, do(ADD, A)).rule(A, do(AFTER, Q), do(REDIRECT, B)).rule(B, do(AFTER, C), do(REDIRECT, D))
    net.rule(D, do(BEFORE, Q), do(AFTER, Q))
    answer = calculate(net.post(R, routing=routing))
    assert net.route(answer).replace("*", "") == "Q D Q C Q R"


@pytest.mark.req("R12")
def test_contexts_are_handed_down_as_far_as_they_reach(calculate: Calculation) -> None:
    """Who pays and who is shown as the sender also hold for what is included in turn; the rest is between two services."""
    net = Net().rule(S, do(ADD, A, pays=True, isolates=True, absorbs=True), do(ADD, C)).rule(A, do(ADD, B))
    answer = calculate(net.post(R))
    nested, included, other, last = answer.outcomes[0].hops
    sender = net.services[S].gcid
    assert net.route(answer) == "B A C R"
    assert (included.payer, included.shown_sender, included.isolated, included.absorbs) == (sender, sender, True, True)
    assert (nested.payer, nested.shown_sender, nested.isolated, nested.absorbs) == (sender, sender, False, False)
    assert {(each.payer, each.shown_sender, each.isolated, each.absorbs) for each in (other, last)} == {
        ("", "", False, False)
    }
