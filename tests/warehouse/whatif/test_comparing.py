"""One message under two directories: what changes, why, and what cannot be said any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from postroad.core.model.message import Message, Recipient
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif.comparison import (
    RouteComparison,
    RouteDifference,
    RouteVerdict,
    compare_routes,
    recorded_side,
    routed_side,
)
from postroad.warehouse.whatif.reasons import address_of, explain_change
from tests.warehouse.bulk.traffic import document, messages, order
from tests.warehouse.whatif.written_journal import WrittenJournal

BEFORE = apply_document(document())
Edit = Callable[[dict[str, Any]], None]


def changed(edit: Edit, prune: bool = False) -> Directory:
    """The directory after an edit of the network's file."""
    content = document()
    edit(content["organizations"])
    return apply_document(content, BEFORE, prune=prune)


def without_first_rule(address: str) -> Edit:
    def edit(houses: dict[str, Any]) -> None:
        del rules_of(houses, address)[0]

    return edit


def rules_of(houses: dict[str, Any], address: str) -> list[dict[str, Any]]:
    house, _, name = address.partition("/")
    rules: list[dict[str, Any]] = houses[house]["services"][name].setdefault("rules", [])
    return rules


def logged(message: Message, *, with_body: bool = True) -> LoggedPost:
    journal = WrittenJournal(BEFORE)
    seq = journal.post(message)
    entry, body = journal.posted(seq), journal.entries[seq - 1][1]
    return LoggedPost(seq, entry, body if with_body else None)


def compared(message: Message, after: Directory, *, with_body: bool = True) -> RouteComparison:
    found = logged(message, with_body=with_body)
    return compare_routes(found, routed_side(found, BEFORE), routed_side(found, after))


def told(result: RouteComparison, after: Directory) -> tuple[RouteDifference, list[str], list[str], tuple[str, ...]]:
    [change] = result.changes
    gained = [address_of(hop.service, after, BEFORE) for hop in change.gained]
    lost = [address_of(hop.service, after, BEFORE) for hop in change.lost]
    return change.difference, gained, lost, explain_change(change, result, BEFORE, after)


@pytest.mark.req("P6")
def test_a_rule_that_holds_now_brings_a_service_in() -> None:
    def lower(houses: dict[str, Any]) -> None:
        rules_of(houses, "MyBiz/Purchasing")[0]["when"]["greaterThan"]["value"] = 5

    after = changed(lower)
    difference, gained, lost, why = told(compared(order(1, 10), after), after)
    assert (difference, gained, lost) == (RouteDifference.ROUTE, ["Mill/Split"], [])
    assert why == (
        "rule 'large orders are split' of MyBiz/Purchasing holds: Mill/Split is inserted after MyBiz/Purchasing",
    )
    assert compared(order(1, 3), after).verdict is RouteVerdict.SAME


@pytest.mark.req("P6")
def test_a_rule_that_is_gone_or_does_not_hold_loses_its_service() -> None:
    removed = changed(without_first_rule("MyBiz/Purchasing"), prune=True)
    _, gained, lost, why = told(compared(order(1, 5000), removed), removed)
    assert (gained, lost, why) == (
        [], ["Mill/Split"], ("rule 'large orders are split' of MyBiz/Purchasing was removed",),
    )  # fmt: skip

    def switch_off(houses: dict[str, Any]) -> None:
        rules_of(houses, "MyBiz/Purchasing")[0]["enabled"] = False

    off = changed(switch_off)
    assert told(compared(order(1, 5000), off), off)[3] == (
        "rule 'large orders are split' of MyBiz/Purchasing is disabled",
    )

    def raise_limit(houses: dict[str, Any]) -> None:
        rules_of(houses, "MyBiz/Purchasing")[0]["when"]["greaterThan"]["value"] = 9999

    raised = changed(raise_limit)
    assert told(compared(order(1, 5000), raised), raised)[3] == (
        "rule 'large orders are split' of MyBiz/Purchasing does not hold",
    )


@pytest.mark.req("P6")
def test_another_recipient_is_a_change_of_route() -> None:
    def redirect_all(houses: dict[str, Any]) -> None:
        rules_of(houses, "Acme/Supply")[0]["when"] = {"exists": {"header": "topic"}}

    after = changed(redirect_all)
    difference, gained, lost, why = told(compared(order(1, 10), after), after)
    assert (difference, gained, lost) == (RouteDifference.ROUTE, ["Acme/Sales"], ["Acme/Supply"])
    assert why == ("rule 'offers go to sales' of Acme/Supply holds: Acme/Sales replaces Acme/Supply",)


@pytest.mark.req("P6")
def test_refusing_and_accepting_are_changes_with_their_code() -> None:
    def close(houses: dict[str, Any]) -> None:
        houses["Acme"]["services"]["Supply"] |= {"accepts": "listed", "acceptsFrom": ["Mill"]}

    after = changed(close)
    difference, _, lost, why = told(compared(order(1, 10), after), after)
    assert (difference, lost, why[-1]) == (
        RouteDifference.REFUSED, ["Acme/Gate", "Acme/Supply"], "refused: recipient.not-allowed",
    )  # fmt: skip

    both = order(4, 10, to=(Recipient("Acme/Sales"), Recipient("No/Body")))

    def open_up(houses: dict[str, Any]) -> None:
        houses["No"] = {"services": {"Body": {"visibility": "public"}}}

    opened = changed(open_up)
    difference, gained, _, why = told(compared(both, opened), opened)
    assert (difference, gained, why) == (
        RouteDifference.ACCEPTED,
        ["No/Body"],
        ("no longer refused: recipient.unknown",),
    )


def test_other_circumstances_of_the_same_services_are_a_change_of_their_own() -> None:
    def pay_not(houses: dict[str, Any]) -> None:
        rules_of(houses, "MyBiz/Purchasing")[0]["then"][0]["pays"] = False

    after = changed(pay_not)
    difference, gained, lost, why = told(compared(order(1, 5000), after), after)
    assert (difference, gained, lost, why) == (
        RouteDifference.CIRCUMSTANCES, [], [], ("another payer at Mill/Split",),
    )  # fmt: skip


def test_a_renamed_rule_changes_nothing() -> None:
    def rename(houses: dict[str, Any]) -> None:
        rules_of(houses, "MyBiz/Purchasing")[0]["name"] = "another name"

    after = changed(rename, prune=True)
    assert compared(order(1, 5000), after).verdict is RouteVerdict.SAME


def test_a_sender_that_would_not_exist_loses_its_messages() -> None:
    gone = apply_document({"postroad": 1, "organizations": {"MyBiz": {}}}, BEFORE, prune=True)
    result = compared(order(1, 10), gone)
    assert [change.difference for change in result.changes] == [RouteDifference.REFUSED]
    assert result.after.code == "sender.unknown"


@pytest.mark.parametrize("number", range(len(messages())))
def test_nothing_changes_where_nothing_is_changed(number: int) -> None:
    """Neither against what would happen today, nor against what happened."""
    message = messages()[number]
    try:
        found = logged(message)
    except AssertionError:
        return  # refused, and so not kept
    again = routed_side(found, BEFORE)
    assert again.copies == found.posted.copies
    assert compare_routes(found, recorded_side(found), again).verdict is RouteVerdict.SAME
    assert recorded_side(found).tried == again.tried


@pytest.mark.req("P6")
def test_without_its_body_a_message_is_decided_where_only_headers_matter() -> None:
    def close_gate(houses: dict[str, Any]) -> None:
        rules_of(houses, "Acme/Supply").pop(1)

    after = changed(close_gate, prune=True)
    from_seller = order(1, 10, sender="Acme/Sales")  # whose rules look at headers only
    result = compared(from_seller, after, with_body=False)
    assert (result.verdict, told(result, after)[2]) == (RouteVerdict.CHANGED, ["Acme/Gate"])
    assert compared(order(1, 10), after, with_body=False).verdict is RouteVerdict.UNDECIDABLE
    assert compared(order(1, 10), after).verdict is RouteVerdict.CHANGED


def test_sizes_are_known_without_the_body() -> None:
    def by_size(houses: dict[str, Any]) -> None:
        rule = rules_of(houses, "Acme/Supply")[1]
        rule["when"] = {"greaterThan": {"header": "size", "as": "number", "value": 1000}}

    after = changed(by_size)
    small = order(1, 10, sender="Acme/Sales")
    assert told(compared(small, after, with_body=False), after)[2] == ["Acme/Gate"]
    part = small.parts[0]
    large = order(2, 10, sender="Acme/Sales", parts=(type(part)(id="1", content_type="text/plain", data=b"x" * 2000),))
    assert compared(large, after, with_body=False).verdict is RouteVerdict.SAME


@pytest.mark.req("P6")
def test_reasons_are_told_against_what_happened_also_without_the_body() -> None:
    """Which rules brought services in is in the route itself; only what they saw went with the body."""

    def header_only(houses: dict[str, Any]) -> None:
        rules = rules_of(houses, "Acme/Supply")
        rules[0]["then"] = [{"redirect": "Acme/Later"}]
        rules.append({"name": "More", "role": "recipient", "when": {"exists": {"header": "topic"}},
                      "then": [{"addServiceBefore": "Mill/Split"}]})  # fmt: skip

    after = changed(header_only)
    sent = order(1, 10, sender="Acme/Sales")
    found = logged(sent, with_body=False)
    result = compare_routes(found, recorded_side(found), routed_side(found, after))
    assert result.verdict is RouteVerdict.UNDECIDABLE  # the rules of Mill/Split look into bodies

    offer = order(2, 10, sender="Acme/Gate", topic="offer")
    found = logged(offer, with_body=False)
    only_redirect = changed(without_first_rule("Acme/Supply"), prune=True)
    result = compare_routes(found, recorded_side(found), routed_side(found, only_redirect))
    assert told(result, only_redirect)[3] == ("rule 'offers go to sales' of Acme/Supply was removed",)
