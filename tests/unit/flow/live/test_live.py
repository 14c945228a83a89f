"""What happens now, for those whose it is: rows, traffic, failures and queues; sampled where it is too much."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from postroad.core.audit.live_events import LiveEventKind
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.polling import Settlement
from postroad.errors import Refused, Unavailable
from postroad.flow.live import feed as following
from postroad.flow.live.feed import LiveFeed
from postroad.flow.live.view import LiveRow, LiveView
from tests.samples.account_scenario import (
    ACCOUNT,
    FIRST,
    ORDER,
    OTHER,
    SECOND,
    AccountScenario,
)


@pytest.fixture
async def scenario() -> AsyncIterator[AccountScenario]:
    async with AccountScenario() as scenario:
        yield scenario


@pytest.fixture
async def people(scenario: AccountScenario) -> dict[str, Caller]:
    return {
        "first": await scenario.person("f@first.example", "First"),
        "second": await scenario.person("s@second.example", "Second"),
        "stranger": await scenario.person("x@elsewhere.example", "Elsewhere"),
        "operator": await scenario.person("o@network.example", operator=True),
    }


@pytest.fixture
async def live(scenario: AccountScenario) -> LiveFeed:
    found = LiveFeed(scenario.network)
    await found.catch_up()
    return found


async def told(scenario: AccountScenario, live: LiveFeed, caller: Caller, **asked: str) -> list[LiveRow]:
    await live.catch_up()
    return (await LiveView(scenario.network, live, caller, **asked).rows(live.turns)).rows


def shown(rows: list[LiveRow]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(row.what.value, row.sender, row.receivers) for row in reversed(rows)]


async def notify(scenario: AccountScenario, to: str = "Second/Other", **more: Any) -> None:
    await scenario.post(FIRST, to, ORDER, **more)


@pytest.mark.req("C4")
async def test_live_events_are_shown_to_their_parties_only(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller]
) -> None:
    await notify(scenario, topic="order")
    [delivered] = await scenario.received(OTHER)
    await scenario.network.settle(scenario.caller(OTHER), Settlement(tokens=(delivered.token,)))
    sent = ("sent", "First/Out", ("Second/Other",))
    got = [("arrived", "First/Out", ("Second/Other",)), ("delivered", "First/Out", ("Second/Other",))]
    assert shown(await told(scenario, live, people["first"])) == [sent]
    assert shown(await told(scenario, live, people["second"])) == got
    assert shown(await told(scenario, live, people["operator"])) == [sent, *got]
    assert await told(scenario, live, people["stranger"]) == []
    assert await told(scenario, live, people["stranger"], service="Second/Other") == []
    assert shown(await told(scenario, live, people["operator"], what="sent")) == [sent]
    assert shown(await told(scenario, live, people["operator"], service="second/other")) == got


@pytest.mark.req("C4", "N7", "Z5")
async def test_live_events_do_not_name_hidden_parties(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller]
) -> None:
    await scenario.confirm()
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.respond(delivered, ORDER)
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.fail(delivered, make_reason("push.nothing-listens", host="hooks.second.example"))
    rows = await told(scenario, live, people["second"])
    assert [row.what.value for row in reversed(rows)] == ["arrived", "sent", "delivered", "arrived", "failed"]
    failures = LiveView(scenario.network, live, people["second"]).failures()
    scenario.assert_hides_first_sender([msgspec.to_builtins(row) for row in rows])
    scenario.assert_hides_first_sender([(letter.sender, letter.session, letter.handle) for _, _, letter in failures])
    assert all(row.at_us % 1_000_000 == 0 for row in rows)
    hidden = b" ".join(msgspec.json.encode(row) for row in await told(scenario, live, people["first"])).decode()
    assert "second" not in hidden.casefold()
    [(cause, count, letter)] = LiveView(scenario.network, live, people["first"]).failures()
    assert (cause.value, count, "econd" in letter.reason) == ("kept-back", 1, False)


@pytest.mark.req("C4")
async def test_traffic_failures_and_queues_are_counted(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller]
) -> None:
    for _ in range(3):
        await notify(scenario)
    [delivered] = (await scenario.received(OTHER))[:1]
    await scenario.network.fail(delivered, make_reason("push.server-error", status=503, tries=9))
    with pytest.raises(Refused):
        await notify(scenario, to="Nobody/Here")
    await live.catch_up()
    now_us = scenario.network.clock.now_us() + 2_000_000
    for who, sent, arrived, failed, refused, waiting in (
        ("first", 3, 0, 1, 1, 0),
        ("second", 0, 3, 1, 0, 2),
        ("operator", 3, 3, 1, 1, 2),
        ("stranger", 0, 0, 0, 0, 0),
    ):
        sight = LiveView(scenario.network, live, people[who])
        traffic, queues = sight.traffic(now_us), await sight.queues()
        minute = traffic.minute
        found = (minute["sent"], minute["arrived"], minute["failed"], minute["refused"], queues.waiting)
        assert found == (sent, arrived, failed, refused, waiting), who
        assert sum(beat.moved for beat in traffic.beats) == sent + arrived
        assert traffic.latest == 0  # nothing is posted in the future
        assert traffic.busiest <= sent + arrived + failed + refused <= 60 * traffic.busiest
        assert [(cause.value, count) for cause, count, _ in sight.failures()] == [("server-error", 1)][:failed]
        assert [queue.service for queue in queues.first] == (["Second/Other"] if waiting else [])
        assert (queues.oldest is not None) == bool(waiting)


async def test_a_reconnecting_client_continues_where_it_left(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller]
) -> None:
    await notify(scenario, topic="one")
    await live.catch_up()
    mark = live.mark
    await notify(scenario, topic="two")
    await live.catch_up()
    sight = LiveView(scenario.network, live, people["first"])
    assert [row.topic for row in (await sight.rows(live.after(mark))).rows] == ["two"]
    assert live.after(live.mark) == []
    for strange in ("", "x", "1.2.3", "0.99999999999999999999", f"{mark.partition('.')[0]}.-1"):
        assert [row.topic for row in (await sight.rows(live.after(strange))).rows] == ["two", "one"]


@pytest.mark.parametrize("at", ["journal.read", "index.query"])
async def test_events_read_before_a_failure_are_neither_lost_nor_counted_twice(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    await live.catch_up()
    seen = (await scenario.network.journal.head()).seq
    await notify(scenario, topic="one")
    [delivered] = await scenario.received(OTHER)
    await scenario.network.fail(delivered, make_reason("push.server-error", status=503))
    part, name = at.split(".")
    original = getattr(getattr(scenario.network, part), name)

    async def failing(*given: Any) -> Any:
        if part == "journal" and given[0] <= seen:  # the first new entry is read, and no other
            return await original(given[0], 1)
        raise Unavailable("network.unavailable", "The store does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(getattr(scenario.network, part), name, failing)
        with pytest.raises(Unavailable):
            await live.catch_up()
    assert ("sent", "First/Out", ("Second/Other",)) in shown(await told(scenario, live, people["first"]))
    minute = (
        LiveView(scenario.network, live, people["operator"]).traffic(scenario.network.clock.now_us() + 2_000_000).minute
    )
    assert (minute["sent"], minute["arrived"]) == (1, 1)


async def test_more_than_can_be_shown_is_sampled_evenly_and_counted(
    scenario: AccountScenario, live: LiveFeed, people: dict[str, Caller]
) -> None:
    for place in range(40):
        await notify(scenario, topic=f"t{place}")
    await live.catch_up()
    sight = LiveView(scenario.network, live, people["first"])
    found = await sight.rows(live.turns, most=4)
    assert ([row.topic for row in found.rows], found.left_out) == (["t39", "t29", "t19", "t9"], 36)
    newest = await sight.rows(live.turns, most=4, newest=True)
    assert ([row.topic for row in newest.rows], newest.left_out) == (["t39", "t38", "t37", "t36"], 36)


async def test_events_that_a_slow_client_misses_are_skipped_and_reported(
    scenario: AccountScenario, people: dict[str, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MAX_ENTRIES", 10)
    monkeypatch.setattr(following, "MAX_EVENTS", 8)
    live = LiveFeed(scenario.network)
    await live.catch_up()
    for place in range(30):
        await notify(scenario, topic=f"t{place}")
    await live.catch_up()
    assert live.skipped == 20
    assert live.turns[-1].left_out == 12  # ten entries, each sent and arrived, of which eight are kept
    rows = await told(scenario, live, people["operator"], what=LiveEventKind.SENT.value)
    assert [row.topic for row in rows] == ["t29", "t28", "t27", "t26"]
    assert live.skipped == 0  # nothing more has come


async def test_many_who_watch_share_one_look(scenario: AccountScenario, live: LiveFeed) -> None:
    await notify(scenario)
    await live.catch_up(fresh_s=60)
    assert live.after(live.mark) == []
    seen = live.mark
    await live.catch_up()
    assert len(live.after(seen)) == 1
