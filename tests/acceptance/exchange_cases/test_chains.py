"""Exchanges that are bound to exchanges: messages go through all of them, each once, whatever way they are put together."""

from __future__ import annotations

import pytest

from postroad.core.model.asset import Hosting
from tests.acceptance.exchange_cases.hall import Hall

ORDER = "<order><id>7</id></order>"
LAST = "<order><id>last</id></order>"


async def last_of(hall: Hall, queue: str) -> list[str]:
    """What came before the last order, which was sent after everything else and is behind it on every way."""
    found: list[str] = []
    while LAST not in found:
        found.append(b"".join(part.data for part in (await hall.next(queue)).parts).decode())
    return found[:-1]


@pytest.mark.req("X7")
async def test_a_chain_hands_on_what_each_exchange_lets_pass(hall: Hall) -> None:
    await hall.exchange("Second")
    await hall.exchange("Third")
    await hall.bind("Second", "exists(/order)", exchange="First")
    await hall.bind("Third", "/order/id", exchange="Second")
    await hall.bind("Queue", "<seen>{ string(/id) }</seen>", exchange="Third")
    await hall.bind("Never", "exists(/order)", exchange="Third")
    await hall.tell(ORDER, to="First")
    one = await hall.next("Queue")
    assert one.parts[0].data == b"<seen>7</seen>"
    assert (one.sender, one.topic) == ("Hall/Publisher", "")
    assert await hall.taken("Never") == []


@pytest.mark.req("X7")
@pytest.mark.parametrize("length", [1, 2, 4])
async def test_a_circle_of_any_length_ends_where_it_began(hall: Hall, length: int) -> None:
    """Everybody on it gets the message once, and the last in order shows that nothing else came."""
    names = [f"E{number}" for number in range(length)]
    for name in names:
        await hall.exchange(name)
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        await hall.bind(following, exchange=name, name="onward")
        await hall.bind(f"At{name}", exchange=name)
    await hall.tell(ORDER, to="E0")
    await hall.tell(LAST, to="E0")
    for name in names:
        assert await last_of(hall, f"At{name}") == [ORDER]


@pytest.mark.req("X7")
@pytest.mark.parametrize("query", ["", "<a>{ $msg }</a>"], ids=["as it came", "rebuilt at each"])
async def test_all_bound_to_all_is_no_flood(hall: Hall, query: str) -> None:
    """By ways without a circle alone, nine exchanges would make 13,700 copies of a message."""
    names = [f"E{number}" for number in range(9)]
    for name in names:
        await hall.exchange(name)
    for name in names:
        for other in names:
            await hall.bind(other, query, exchange=name, name=f"to {other}")
        await hall.bind(f"At{name}", exchange=name)
    await hall.tell(ORDER, to="E0")
    await hall.settled()
    got = [len(await hall.taken(f"At{name}")) for name in names]
    assert got[0] == 1
    assert min(got) >= 1
    assert sum(got) <= (1 + 8 * 8 if not query else 1 + 8 + 8 * 7 + 8 * 7 * 6 + 8 * 8)


@pytest.mark.req("X7")
async def test_two_ways_to_an_exchange_with_different_content_are_both_gone(hall: Hall) -> None:
    for name in ("Left", "Right", "Both"):
        await hall.exchange(name)
    await hall.bind("Left", exchange="First", name="left")
    await hall.bind("Right", exchange="First", name="right")
    await hall.bind("Both", "<left/>", exchange="Left")
    await hall.bind("Both", "<right/>", exchange="Right")
    await hall.exchange("Last")
    await hall.bind("Last", exchange="Both")
    await hall.bind("Queue", exchange="Last")
    await hall.tell(ORDER, to="First")
    got = [(await hall.next("Queue")).parts[0].data for _ in range(2)]
    assert sorted(got) == [b"<left/>", b"<right/>"]


@pytest.mark.req("X7", "X1")
async def test_an_error_in_a_chain_stays_where_it_is(hall: Hall) -> None:
    await hall.exchange("Second")
    await hall.bind("Second", exchange="First")
    broken = await hall.bind("Broken", "error()", exchange="Second")
    await hall.bind("Queue", exchange="Second")
    await hall.tell(ORDER, to="First")
    await hall.next("Queue")
    assert await hall.taken("Broken") == []
    assert (await hall.tally(broken)).errors == 1


@pytest.mark.req("X7")
@pytest.mark.parametrize(("open_to", "copies"), [((), 0), (("Others",), 0), (("Elsewhere",), 1), (("*",), 1)])
async def test_an_exchange_sends_to_others_only_while_it_is_open_to_them(
    hall: Hall, open_to: tuple[str, ...], copies: int
) -> None:
    """Whatever is bound: a queue of another organization, behind an exchange that its own organization owns."""
    await hall.service("Exchange", hosted=Hosting.EXCHANGE, open_to=open_to)
    binding = await hall.bind("Elsewhere/Desk")
    await hall.bind("Queue")
    assert await hall.send(ORDER) == 1 + copies
    assert await hall.taken("Queue") == [ORDER]
    assert await hall.taken("Elsewhere/Desk") == [ORDER] * copies
    tally = await hall.tally(binding)
    assert (tally.matched, tally.errors) == (copies, 1 - copies)
    assert ("permission.denied" in tally.last_error) == (copies == 0)
