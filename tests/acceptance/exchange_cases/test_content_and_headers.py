"""Bindings by content and by header items.

The first six cases are those that Apache Qpid's tests ask of its XML exchange, re-stated for queues that are mailboxes of
services, and for a routing key that is the message's topic. The others ask what those leave open: what does not match stays away,
and what one binding or message does wrong touches no other.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from postroad.errors import Refused
from tests.acceptance.exchange_cases.hall import Hall

HELLO = "<message>Hi, Mom!</message>"
BLUE, RED = "<colour>blue</colour>", "<colour>red</colour>"
ITEMS = "$s = 'string' and $i = 1 and $d < 1"


@pytest.mark.req("X1", "X3")
async def test_a_binding_by_content_and_header_item(hall: Hall) -> None:
    """Odd numbers that are blue: one half of the query is about the content, the other about a header item."""
    query = "declare variable $color external; (./message/id mod 2 = 1) and ($color = 'blue')"
    await hall.bind("OddBlue", query, routing_key="query_name")
    odd, even = "<message><id>1</id></message>", "<message><id>2</id></message>"
    assert await hall.send(odd, topic="query_name", color="blue") == 1
    assert await hall.taken("OddBlue") == [odd]
    assert await hall.send(odd, topic="query_name", color="red") == 0
    assert await hall.send(odd, topic="query_name") == 0
    assert await hall.send(even, topic="query_name", color="blue") == 0
    assert await hall.send(odd, topic="another", color="blue") == 0


@pytest.mark.req("X1", "X3")
async def test_several_queues_under_one_routing_key(hall: Hall) -> None:
    await hall.bind("Blue", "./colour = 'blue'", routing_key="by-colour")
    await hall.bind("Red", "./colour = 'red'", routing_key="by-colour")
    assert await hall.send(BLUE, topic="by-colour") == 1
    assert await hall.send(RED, topic="by-colour") == 1
    assert (await hall.taken("Blue"), await hall.taken("Red")) == ([BLUE], [RED])


@pytest.mark.req("X1", "X8")
async def test_content_that_is_not_xml_is_no_match_for_who_looks_inside_and_no_fault_of_the_sender(hall: Hall) -> None:
    """It is neither refused nor a dead letter, whoever does not look inside gets it, and the next one is served."""
    await hall.bind("Blue", "./colour = 'blue'", routing_key="by-colour")
    await hall.bind("Red", "./colour = 'red'", routing_key="by-colour")
    await hall.bind("All", routing_key="by-colour")
    bad = "<>colour>blue</colour>"
    assert await hall.send(bad, topic="by-colour") == 1
    assert await hall.taken("All") == [bad]
    assert await hall.send(BLUE, topic="by-colour") == 2
    assert (await hall.taken("Blue"), await hall.taken("Red")) == ([BLUE], [])


@pytest.mark.req("X1", "X4")
async def test_a_query_that_does_not_compile_is_refused_with_its_place_and_binds_nothing(hall: Hall) -> None:
    await hall.bind("Red", "./colour = 'red'")
    with pytest.raises(Refused, match="line 1, column 12") as refused:
        await hall.bind("Blue", "./colour $=! 'blue'")
    assert refused.value.code == "query.invalid"
    assert await hall.send(BLUE) == 0
    assert await hall.send(RED) == 1


@pytest.mark.req("X3")
async def test_header_items_of_all_types_without_declared_types(hall: Hall) -> None:
    declared = "declare variable $s external; declare variable $i external; declare variable $d external; "
    await hall.bind("Queue", declared + ITEMS, routing_key="query_name")
    assert await hall.send(HELLO, topic="query_name", s="string", i=1, d=0.5) == 1
    assert await hall.taken("Queue") == [HELLO]
    assert await hall.send(HELLO, topic="query_name", s="string", i=2, d=0.5) == 0
    assert await hall.send(HELLO, topic="query_name", s="string", i=1, d=1.5) == 0


@pytest.mark.req("X3")
@pytest.mark.parametrize("number", ["xs:decimal", "xs:double", "xs:anyAtomicType"])
async def test_header_items_of_all_types_with_declared_types(hall: Hall, number: str) -> None:
    declared = (
        f"declare variable $s as xs:string external; declare variable $i as xs:integer external; "
        f"declare variable $d as {number} external; "
    )
    binding = await hall.bind("Queue", declared + ITEMS, routing_key="query_name")
    assert await hall.send(HELLO, topic="query_name", s="string", i=1, d=0.5) == 1
    assert await hall.taken("Queue") == [HELLO]
    assert (await hall.tally(binding)).errors == 0


# ---- what they leave open


@pytest.mark.req("X3")
async def test_an_item_of_another_type_than_declared_is_an_error_at_that_binding_alone(hall: Hall) -> None:
    typed = await hall.bind("Typed", "declare variable $i as xs:integer external; $i = 1")
    await hall.bind("Untyped", "exists($i)")
    assert await hall.send(HELLO, i="one") == 1
    assert await hall.taken("Untyped") == [HELLO]
    assert (await hall.taken("Typed"), (await hall.tally(typed)).matched) == ([], 0)


@pytest.mark.req("X3")
async def test_whole_numbers_too_large_for_a_machine_word_keep_every_digit(hall: Hall) -> None:
    large = 2**63 + 1
    await hall.bind("Exact", f"$n = {large}")
    await hall.bind("Near", f"$n = {large - 1}")
    assert await hall.send(HELLO, n=large) == 1
    assert (await hall.taken("Exact"), await hall.taken("Near")) == ([HELLO], [])


@pytest.mark.req("X5")
async def test_who_asks_for_header_items_alone_gets_what_is_no_document_at_all(hall: Hall) -> None:
    await hall.bind("Heavy", "$weight > 5")
    await hall.bind("Looking", "$weight > 5 and $msg/message")
    assert await hall.send(b"\x00\xff not a document", weight=6) == 1
    assert await hall.taken("Looking") == []


@pytest.mark.req("X8")
async def test_what_nobody_could_look_into_and_nobody_takes_is_refused_with_its_reason(hall: Hall) -> None:
    await hall.bind("Heavy", "$weight > 5")
    assert await hall.send("<a>not closed", weight=5) == 0
    await hall.bind("Looking", "$msg/message")
    status = (await hall.answer("<a>not closed", weight=5)).status
    assert status is not None
    assert "not well-formed" in status.text, status
    assert await hall.send("<a/>", weight=5) == 0


@pytest.mark.req("X1")
async def test_several_bindings_of_one_queue_bring_a_message_once(hall: Hall) -> None:
    await hall.bind("Queue", "exists(./colour)", name="has a colour")
    await hall.bind("Queue", "./colour = 'blue'", name="is blue")
    await hall.bind("Queue", "string-length(./colour) = 4", name="is short")
    assert await hall.send(BLUE) == 1
    assert await hall.taken("Queue") == [BLUE]


@pytest.mark.req("X6")
async def test_what_is_unbound_gets_nothing_more_and_others_go_on(hall: Hall) -> None:
    first = await hall.bind("Queue", "./colour = 'blue'")
    await hall.bind("Other", "./colour = 'blue'")
    assert await hall.send(BLUE) == 2
    await hall.unbind(first)
    assert await hall.send(BLUE) == 1
    assert (await hall.taken("Queue"), await hall.taken("Other")) == ([BLUE], [BLUE] * 2)


@pytest.mark.req("X1", "X5")
async def test_errors_are_counted_at_their_binding_with_their_text_and_touch_no_other(hall: Hall) -> None:
    raising = await hall.bind("Raising", "error(xs:QName('no-colour'), 'there is no colour for it')")
    dividing = await hall.bind("Dividing", "<share>{ 1 div count(./colour[. = 'red']) }</share>")
    fine = await hall.bind("Fine", "<c>{ string(./colour) }</c>")
    for _ in range(3):
        assert await hall.send(BLUE) == 1
    tallies = [await hall.tally(one) for one in (raising, dividing, fine)]
    assert [(tally.errors, tally.matched) for tally in tallies] == [(3, 0), (3, 0), (0, 3)]
    assert "there is no colour for it" in tallies[0].last_error
    assert "FOAR0001" in tallies[1].last_error
    assert tallies[2].last_error == ""


@pytest.mark.req("X3")
async def test_decimals_compare_as_decimals(hall: Hall) -> None:
    """0.1 + 0.2 is 0.3 here, as money wants it."""
    assert Decimal("0.1") + Decimal("0.2") == Decimal("0.3")
    await hall.bind("Queue", "declare variable $price external; $price + 0.2 = 0.3")
    assert await hall.send(HELLO, price=0.1) == 1
