"""Itineraries: explicit routes, one recipient's fault, loops and limits."""

from __future__ import annotations

import pytest

from postroad.core.admission.admit import admit
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DocumentAccess, Organization, Service, Visibility
from postroad.core.model.message import Argument, Message, Part, Recipient
from postroad.core.model.route import Copy
from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.itinerary import attempt_itineraries, itineraries
from postroad.errors import Refused
from postroad.testing.directories import make_directory


def service(number: int, name: str, **profile: object) -> Service:
    organization, _, short = name.partition("/")
    return Service(
        gcid=f"{number:016x}", organization=organization, name=short, visibility=Visibility.PUBLIC, **profile  # type: ignore[arg-type]
    )  # fmt: skip


BUYER = service(1, "MyBiz/Purchasing")
TIED = service(2, "MyBiz/Tied", may_include_services=False)
SUPPLY = service(3, "Acme/Supply")
XSLT = service(4, "Transmatics/xslt")
ZIP = service(5, "XpandiCo/zipPlus4")
RULES = service(6, "Acme/RulesOnly", logical_only=True)
DIRECTORY = make_directory(Organization(name="MyBiz"), BUYER, TIED, SUPPLY, XSLT, ZIP, RULES)


def copies(message: Message, sender: Service = BUYER) -> tuple[Copy, ...]:
    return itineraries(admit(message, Caller(service=sender), DIRECTORY, 1), DIRECTORY).copies


def names(copy: Copy) -> list[str]:
    return [DIRECTORY.services[hop.service].address for hop in copy.hops]


@pytest.mark.req("M8")
def test_one_recipients_fault_does_not_touch_the_others() -> None:
    good, bad, better = copies(
        Message(to=(Recipient("Acme/Supply"), Recipient("No/Body"), Recipient("XpandiCo/zipPlus4")))
    )
    assert (names(good), bad.code, names(better)) == (["Acme/Supply"], "recipient.unknown", ["XpandiCo/zipPlus4"])


@pytest.mark.req("M8")
def test_a_post_that_reaches_nobody_is_refused_with_the_first_reason() -> None:
    with pytest.raises(Refused) as refused:
        copies(Message(to=(Recipient("No/Body"), Recipient("Acme/RulesOnly"))))
    assert refused.value.code == "recipient.unknown"


def test_an_explicit_route_is_passed_in_order_with_the_arguments_given() -> None:
    message = Message(
        to=(Recipient("Acme/Supply", (Argument("operation", "ProcessPurchaseOrder"),)),),
        route=(Recipient("Transmatics/xslt", (Argument("stylesheet", "split"),)), Recipient("XpandiCo/zipPlus4")),
    )
    [copy] = copies(message)
    assert names(copy) == ["Transmatics/xslt", "XpandiCo/zipPlus4", "Acme/Supply"]
    assert [hop.arguments for hop in copy.hops] == [
        (Argument("stylesheet", "split"),),
        (),
        (Argument("operation", "ProcessPurchaseOrder"),),
    ]
    assert {hop.invoker for hop in copy.hops} == {BUYER.gcid}


@pytest.mark.parametrize(
    ("route", "sender", "code"),
    [
        (["Transmatics/xslt", "MyBiz/Purchasing"], BUYER, "route.loop"),
        (["No/Body"], BUYER, "recipient.unknown"),
        (["Transmatics/xslt"] * 25, BUYER, "route.too-long"),
        (["Transmatics/xslt"], TIED, "route.invalid"),
    ],
)
def test_a_route_that_cannot_be_passed_is_refused(route: list[str], sender: Service, code: str) -> None:
    message = Message(to=(Recipient("Acme/Supply"),), route=tuple(Recipient(stop) for stop in route))
    with pytest.raises(Refused) as refused:
        copies(message, sender)
    assert refused.value.code == code


def test_a_service_may_be_passed_twice() -> None:
    message = Message(
        to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/xslt"), Recipient("Transmatics/xslt"))
    )
    assert names(copies(message)[0]) == ["Transmatics/xslt", "Transmatics/xslt", "Acme/Supply"]


@pytest.mark.req("R11")
def test_a_service_that_takes_part_by_its_rules_alone_is_not_delivered_to() -> None:
    [copy] = copies(Message(to=(Recipient("Acme/Supply"),), route=(Recipient("Acme/RulesOnly"),)))
    assert names(copy) == ["Acme/Supply"]
    assert [hop.service for hop in copy.logical] == [RULES.gcid]
    with pytest.raises(Refused, match="rules-only service"):
        copies(Message(to=(Recipient("Acme/RulesOnly"),)))


def test_a_loop_is_spelled_out() -> None:
    message = Message(to=(Recipient("Acme/Supply"),), route=(Recipient("MyBiz/Purchasing"),))
    with pytest.raises(Refused, match="MyBiz/Purchasing → MyBiz/Purchasing"):
        copies(message)


def test_what_is_remembered_does_not_leak_to_another_sender_or_directory() -> None:
    private = Service(gcid="f" * 16, organization="MyBiz", name="Archive")
    shared = make_directory(BUYER, SUPPLY, private)
    message = Message(to=(Recipient("MyBiz/Archive"),))
    [own] = itineraries(admit(message, Caller(service=BUYER), shared, 1), shared).copies
    assert not own.code
    with pytest.raises(Refused):
        itineraries(admit(message, Caller(service=SUPPLY), shared, 1), shared)


@pytest.mark.req("N3", "Z5")
def test_a_rule_cannot_tell_a_private_service_from_none() -> None:
    """What a rule saw is explained to its owner, so it must not see who is there."""
    private = Service(gcid="f" * 16, organization="Acme", name="Vault")
    seen_gcid = ValueComparison(
        operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="to.gcid")
    )
    asking = Rule(
        service=BUYER.gcid,
        name="who",
        place=1,
        role=RuleRole.SENDER,
        when=seen_gcid,
        then=(RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),),
    )
    known = make_directory(BUYER, private, asking)
    tried = []
    for named in ("Acme/Vault", "Acme/Nothing"):
        found = attempt_itineraries(admit(Message(to=(Recipient(named),)), Caller(service=BUYER), known, 1), known)
        tried.append([(rule.name, rule.held) for service in found.tried for rule in service.rules])
    assert tried == [[("who", False)]] * 2


def looking(owner: Service, *places: ValueLocation) -> Rule:
    """A rule in transit that looks at all these places and does nothing."""
    nowhere = tuple(ValueComparison(operator=Comparing.MATCHES, place=place, values=("never",)) for place in places)
    when = Combination(operator=Combining.OR, conditions=nowhere)
    stop = (RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),)
    return Rule(service=owner.gcid, name="look", place=1, role=RuleRole.IN_TRANSIT, when=when, then=stop)


def seen_by(
    owner: Service, message: Message, sender: Service, known: Directory, form: str = ""
) -> dict[str, tuple[str, ...]]:
    tried = itineraries(admit(message, Caller(service=sender), known, 1), known, form).tried
    [one] = [one for one in tried if one.service == owner.gcid]
    return {place: texts for place, texts in one.seen.items() if not place.endswith("(names)")}


def in_header(path: str) -> ValueLocation:
    return ValueLocation(where=MessageSection.HEADER, path=path)


OPEN = Part(id="open", content_type="application/json", data=b'{"a":1}')
HIDDEN = Part(id="hidden", content_type="application/json", data=b'{"secret":"42"}')


@pytest.mark.req("N5", "Z5")
def test_rules_of_a_service_do_not_see_documents_that_the_sender_withholds_from_it() -> None:
    """What a rule saw is explained to its owner, and what it decides shows in the route."""
    wary = service(7, "MyBiz/Wary", document_access=(DocumentAccess(service="Transmatics/xslt", read=("open",)),))
    secret = ValueLocation(where=MessageSection.BODY, path="$.secret")
    places = (secret, in_header("documents.id"), in_header("size"))
    known = make_directory(wary, SUPPLY, XSLT, ZIP, looking(XSLT, *places), looking(ZIP, *places))
    message = Message(
        to=(Recipient("Acme/Supply"),),
        route=(Recipient("Transmatics/xslt"), Recipient("XpandiCo/zipPlus4")),
        parts=(OPEN, HIDDEN),
    )
    assert seen_by(XSLT, message, wary, known) == {
        "body $.secret": (), "header documents.id": ("open",), "header size": ("7",),
    }  # fmt: skip
    assert seen_by(ZIP, message, wary, known) == {
        "body $.secret": ("42",), "header documents.id": ("open", "hidden"), "header size": ("22",),
    }  # fmt: skip


@pytest.mark.req("N5", "Z5")
def test_rules_of_a_service_in_transit_do_not_see_what_recipients_are_told() -> None:
    """Nor is that in what the service is given; be it inserted by the sender or by the recipient."""
    places = tuple(map(in_header, ("to", "to.arguments.pin", "arguments.pin", "route.arguments.pin")))
    to = Recipient("Acme/Supply", (Argument("pin", "1234"),))
    including = Rule(
        service=SUPPLY.gcid,
        name="stamped",
        place=1,
        role=RuleRole.RECIPIENT,
        when=ValueComparison(operator=Comparing.EXISTS, place=in_header("to.arguments.pin")),
        then=(RuleAction(kind=ActionKind.ADD_SERVICE_BEFORE, service=ZIP.gcid),),
    )
    known = make_directory(BUYER, SUPPLY, XSLT, ZIP, including, looking(XSLT, *places), looking(ZIP, *places))
    route = (Recipient("Transmatics/xslt", (Argument("pin", "own"),)),)
    for other in ((), (Recipient("XpandiCo/zipPlus4"),)):
        message = Message(to=(to, *other), route=route)
        assert seen_by(SUPPLY, message, BUYER, known) == {"header to.arguments.pin": ("1234",)}
        assert seen_by(XSLT, message, BUYER, known)["header to.arguments.pin"] == ()
        assert seen_by(XSLT, message, BUYER, known)["header arguments.pin"] == ("own",)
        assert seen_by(XSLT, message, BUYER, known)["header route.arguments.pin"] == (), (
            "only the sender's rules see them"
        )
        tried = itineraries(admit(message, Caller(service=BUYER), known, 1), known).tried
        [by_supply] = [one for one in tried if one.service == ZIP.gcid and one.invoker == SUPPLY.gcid]
        assert (by_supply.seen["header to"], by_supply.seen["header to.arguments.pin"]) == (("Acme/Supply",), ())


@pytest.mark.req("R12", "Z5")
def test_rules_of_an_isolated_service_see_its_invoker_as_sender_and_nothing_of_the_wider_route() -> None:
    isolating = Rule(
        service=XSLT.gcid,
        name="alone",
        place=1,
        role=RuleRole.IN_TRANSIT,
        when=ValueComparison(operator=Comparing.EXISTS, place=in_header("from")),
        then=(RuleAction(kind=ActionKind.ADD_SERVICE, service=ZIP.gcid, isolates=True),),
    )
    items = ("from", "from.organization", "to", "route", "handle", "type", "form")
    known = make_directory(BUYER, SUPPLY, XSLT, ZIP, isolating, looking(ZIP, *map(in_header, items)))
    message = Message(to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/xslt"),), handle="mine")
    assert seen_by(ZIP, message, BUYER, known, form="json") == {
        "header from": ("Transmatics/xslt",), "header from.organization": ("Transmatics",),
        "header to": ("XpandiCo/zipPlus4",), "header route": (), "header handle": (), "header type": ("request",),
        "header form": ("json",),
    }  # fmt: skip


@pytest.mark.req("Z5")
def test_a_recipients_rule_does_not_see_who_else_was_written_to() -> None:
    asking = Rule(
        service=SUPPLY.gcid,
        name="who",
        place=1,
        role=RuleRole.RECIPIENT,
        when=ValueComparison(
            operator=Comparing.EQUALS,
            place=ValueLocation(where=MessageSection.HEADER, path="to"),
            values=("XpandiCo/zipPlus4",),
        ),
        then=(RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),),
    )
    known = make_directory(BUYER, SUPPLY, ZIP, asking)
    message = Message(to=(Recipient("Acme/Supply"), Recipient("XpandiCo/zipPlus4")))
    [tried] = itineraries(admit(message, Caller(service=BUYER), known, 1), known).tried
    assert [rule.held for rule in tried.rules] == [False]
    assert all("zipPlus4" not in text for texts in tried.seen.values() for text in texts)
