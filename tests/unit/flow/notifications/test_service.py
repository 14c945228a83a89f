"""Notifications of a network: from the journal to the channel, through crashes, failing channels and storms."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, OrganizationLimits
from postroad.core.notifications.conditions import Condition, KnownCondition, compare_conditions
from postroad.core.notifications.event import NotifiableEvent
from postroad.core.notifications.state import decode_state, encode_state
from postroad.errors import Unavailable
from postroad.flow.notifications import service as notification_service
from postroad.flow.notifications.journal_events import read_events
from postroad.flow.notifications.own_service import ensure_notification_service
from postroad.flow.notifications.service import NotificationService
from postroad.flow.notifications.sources import ConditionSource
from postroad.testing.clocks import EPOCH_US
from tests.samples.notified_scenario import NotifiedScenario
from tests.samples.subscriptions import MINUTE
from tests.waiting import eventually_async

DIGEST_S = 15 * 60.0


async def fail_order(scenario: NotifiedScenario, **header: Any) -> None:
    await scenario.post("Globex/Buyer", "Acme/Supply", "secret content", **header)
    await scenario.fail(await scenario.receive("Acme/Supply"))


async def buyer(scenario: NotifiedScenario) -> None:
    await scenario.service("Globex/Buyer")


@pytest.mark.req("O8")
async def test_owners_are_notified_of_dead_letters_first_at_once_and_then_in_digests() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await fail_order(scenario)
        await scenario.wait(20)
        assert scenario.recorded.told() == [("dead-letter", 1)]
        for _ in range(5):
            await fail_order(scenario)
        await scenario.wait(DIGEST_S)
        assert scenario.recorded.told() == [("dead-letter", 1), ("dead-letter", 5)]
        assert "secret content" not in str(scenario.recorded.sent)
        assert scenario.recorded.sent[0].lines[0].subject == "Acme/Supply, server-error"


async def test_a_storm_is_one_notification_and_the_state_stays_small() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        for _ in range(300):
            await fail_order(scenario)
        await scenario.wait(20)
        await scenario.wait(DIGEST_S)
        assert scenario.recorded.told() == [("dead-letter", 300)]
        assert len(await scenario.store.load() or b"") < 5_000


async def test_a_crash_after_sending_repeats_one_notification_with_the_same_id() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await fail_order(scenario)
        await scenario.work()
        scenario.manual.advance(20)
        before = await scenario.store.load()
        await scenario.work()
        after = await scenario.store.load()
        assert after != before
        made = decode_state(after or b"")
        assert made.digest("acme/ops", "dead-letter").pending is None
        [first] = scenario.recorded.sent

        pending = decode_state(after or b"")
        pending.digest("acme/ops", "dead-letter").pending = first
        pending.digest("acme/ops", "dead-letter").retry_at_us = 1
        await scenario.store.save(encode_state(pending), after or b"")  # what a crash between sending and saving leaves
        scenario.start_notifications()
        await scenario.wait(60)
        assert [one.id for one in scenario.recorded.sent] == [first.id, first.id]


async def test_entries_that_are_read_again_after_a_crash_are_not_counted_twice() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        cursor = await scenario.follower.catch_up()
        assert cursor is not None
        await fail_order(scenario)
        await scenario.follower.catch_up()
        await scenario.cursors.save("notifications", cursor)  # the state was saved, and then the cursor was not
        scenario.start_notifications()
        await scenario.wait(20)
        assert scenario.recorded.told() == [("dead-letter", 1)]


async def test_due_digests_and_conditions_survive_a_restart() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await fail_order(scenario)
        await scenario.save(Organization(name="Acme", suspended="unpaid"))
        await scenario.work()
        scenario.start_notifications()
        await scenario.wait(120)
        assert sorted(scenario.recorded.told()) == [("dead-letter", 1), ("organization.suspended", 1)]
        scenario.start_notifications()
        await scenario.wait(3_600)
        assert len(scenario.recorded.sent) == 2
        await scenario.save(Organization(name="Acme"))
        await scenario.wait(120)
        assert scenario.recorded.sent[-1].is_recovery


async def test_a_failing_channel_delays_no_other_and_is_shown() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        for name in ("ops", "broken", "hanging"):
            await scenario.subscribe(name)
        scenario.recorded.faults["broken"] = "the receiver answered 500"
        scenario.recorded.hanging.add("hanging")

        async def has_sent() -> bool:
            health = await scenario.network.notifications.read_health("acme/broken", "acme/ops")
            return bool(health["acme/broken"].failures and health["acme/ops"].sent_at_us)

        await fail_order(scenario)
        await scenario.follower.catch_up()
        scenario.manual.advance(20)
        await scenario.notifications.tick()
        scenario.manual.advance(20)
        await scenario.notifications.tick()
        await eventually_async(has_sent, why="a hanging channel delays another")
        health = await scenario.network.notifications.read_health("acme/broken", "acme/ops")
        assert (health["acme/broken"].failures, health["acme/broken"].fault) == (1, "the receiver answered 500")
        assert counted(scenario) == {"sent": 1, "failed": 1, "waiting": 1}
        assert health["acme/ops"].sent_at_us > EPOCH_US
        scenario.recorded.faults.clear()
        scenario.recorded.hanging.clear()
        scenario.recorded.never.set()
        await scenario.wait(5 * 60)
        assert [len(scenario.recorded.told(name)) for name in ("ops", "broken", "hanging")] == [1, 1, 1]
        assert (await scenario.network.notifications.read_health("acme/broken"))["acme/broken"].failures == 0
        assert counted(scenario) == {"sent": 3, "failed": 1, "waiting": 0}


def counted(scenario: NotifiedScenario) -> dict[str, float]:
    """What the metrics say of e-mail."""
    metrics = scenario.network.metrics
    list(metrics.read())
    attempts = {result: metrics.value("notifications_total", "email", result) for result in ("sent", "failed")}
    return attempts | {"waiting": metrics.value("notifications_waiting", "email")}


async def test_an_error_of_a_channel_is_a_fault_with_a_pause() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        scenario.recorded.errors["ops"] = IndexError("of a library")
        await fail_order(scenario)
        await scenario.wait(20)
        health = (await scenario.network.notifications.read_health("acme/ops"))["acme/ops"]
        assert (health.failures, "IndexError" in health.fault) == (1, True)
        scenario.recorded.errors.clear()
        await scenario.wait(120)
        assert scenario.recorded.told() == [("dead-letter", 1)]


async def test_dead_letters_of_notifications_make_no_notifications() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        own = await ensure_notification_service(scenario.network)
        await scenario.post(Caller.inside(own), "Acme/Supply", "{}")
        await scenario.fail(await scenario.receive("Acme/Supply"))
        await scenario.wait(20)
        assert scenario.recorded.sent == []
        await fail_order(scenario)
        await scenario.wait(20)
        assert scenario.recorded.told() == [("dead-letter", 1)]


async def test_without_subscriptions_nothing_is_remembered() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await fail_order(scenario)
        await scenario.wait(3_600)
        assert await scenario.store.load() is None


async def test_limits_are_reported_at_80_and_100_per_cent() -> None:
    async with NotifiedScenario() as scenario:
        limits = OrganizationLimits(queued_messages=5)
        await scenario.service("Globex/Buyer")
        await scenario.save(Organization(name="Globex", limits=limits))
        await scenario.subscribe("ops", "Globex", digest_minutes=1)
        for _ in range(4):
            await scenario.post("Globex/Buyer", "Acme/Supply", "x")
        await scenario.wait(10 * 60)
        await scenario.post("Globex/Buyer", "Acme/Supply", "x")
        await scenario.wait(10 * 60)
        told = [(one.severity.value, one.lines[0].detail) for one in scenario.recorded.sent]
        assert told == [("warning", "4 of 5 are used"), ("error", "5 of 5 are used")]


async def test_a_condition_of_a_source_is_checked_in_its_time() -> None:
    times: list[int] = []

    async def find() -> list[Condition]:
        times.append(scenario.manual.now_us())
        return [Condition("disk.low", "", "data folder", "1 MiB is free")] if len(times) < 3 else []

    source = ConditionSource(names=frozenset({"disk.low"}), every_s=600.0, find=find)
    async with NotifiedScenario([source]) as scenario:
        await scenario.subscribe("net", "")
        for _ in range(12):
            await scenario.wait(300)
        assert [one.is_recovery for one in scenario.recorded.sent] == [False, True]
        assert min(late - early for early, late in pairwise(times)) >= 10 * MINUTE


async def test_a_source_that_fails_stops_no_other() -> None:
    async def fail() -> list[Condition]:
        raise OSError("no such folder")

    async def find() -> list[Condition]:
        return [Condition("index.behind", "", "index")]

    sources = [
        ConditionSource(names=frozenset({"disk.low"}), every_s=60.0, find=fail),
        ConditionSource(names=frozenset({"index.behind"}), every_s=60.0, find=find),
    ]
    async with NotifiedScenario(sources) as scenario:
        await scenario.subscribe("net", "")
        await scenario.wait(60)
        assert scenario.recorded.told("net") == [("index.behind", 1)]


async def test_a_restored_journal_is_followed_from_its_new_end() -> None:
    async with NotifiedScenario() as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await fail_order(scenario)
        await scenario.wait(20)
        saved = await scenario.store.load() or b""
        state = decode_state(saved)
        state.seq += 1_000_000  # as after a restore to an earlier entry, when an operator has reset the follower
        await scenario.store.save(encode_state(state), saved)
        scenario.start_notifications()
        await fail_order(scenario)
        await scenario.wait(DIGEST_S)
        assert scenario.recorded.told() == [("dead-letter", 1), ("dead-letter", 1)]


async def test_a_node_that_stops_to_lead_does_not_save_an_empty_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leadership is lost while a batch of entries is added."""
    is_adding, may_continue, leading = asyncio.Event(), asyncio.Event(), [True]

    async def read_slowly(*arguments: Any) -> list[NotifiableEvent]:
        is_adding.set()
        await may_continue.wait()
        return await read_events(*arguments)

    async def leads() -> bool:
        return leading[0]

    async with NotifiedScenario([]) as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        service = NotificationService(scenario.network, scenario.store, scenario.channels, [], leads)
        after = (await scenario.network.journal.head()).seq
        await fail_order(scenario)
        monkeypatch.setattr(notification_service, "read_events", read_slowly)
        adding = asyncio.create_task(service.handle(await scenario.network.journal.read(after)))
        await is_adding.wait()
        leading[0] = False
        ticking = asyncio.create_task(service.tick())
        await asyncio.sleep(0)  # the tick is at the lock, or has forgotten the state
        may_continue.set()
        await asyncio.gather(adding, ticking)
        state = decode_state(await scenario.store.load() or b"")
        assert state.digest("acme/ops", "dead-letter").due_at_us


async def test_conditions_are_compared_only_when_a_source_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def compare(known: list[KnownCondition], *others: Any) -> tuple[list[KnownCondition], list[NotifiableEvent]]:
        compared.append(scenario.manual.now_us())
        return compare_conditions(known, *others)

    async def find() -> list[Condition]:
        return [Condition("disk.low", "", "data folder", "1 MiB is free")]

    monkeypatch.setattr(notification_service, "compare_conditions", compare)
    source = ConditionSource(names=frozenset({"disk.low"}), every_s=60.0, find=find)
    async with NotifiedScenario([source]) as scenario:
        await scenario.subscribe("net", "")
        for _ in range(60):
            await scenario.work()
            scenario.manual.advance(5)
        assert len(compared) == 5
        assert scenario.recorded.told("net") == [("disk.low", 1)]


async def test_a_members_organization_sends_no_notifications_of_the_network() -> None:
    async with NotifiedScenario([]) as scenario:
        await scenario.service("Network/Notifications")
        await scenario.person("owner@network.example", "Network")
        refused = await scenario.refusal(ensure_notification_service(scenario.network))
        assert (refused.code, "has members" in refused.detail) == ("name.taken", True)


async def test_failed_messages_of_a_members_service_with_the_networks_name_are_reported() -> None:
    async with NotifiedScenario() as scenario:
        await scenario.service("Network/Notifications")
        await scenario.person("owner@network.example", "Network")
        await scenario.subscribe()
        await scenario.post("Network/Notifications", "Acme/Supply", "x")
        await scenario.fail(await scenario.receive("Acme/Supply"))
        await scenario.wait(20)
        assert scenario.recorded.told() == [("dead-letter", 1)]


async def test_nothing_is_sent_before_the_state_is_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    async with NotifiedScenario([]) as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await fail_order(scenario)
        await scenario.work()
        scenario.manual.advance(20)
        monkeypatch.setattr(scenario.store, "save", cannot_save)
        for _ in range(2):
            with pytest.raises(Unavailable):
                await scenario.notifications.tick()
        await scenario.notifications.settle()
        assert scenario.recorded.sent == []
        monkeypatch.undo()
        await scenario.work()
        assert scenario.recorded.told() == [("dead-letter", 1)]


async def cannot_save(document: bytes, known: bytes) -> bool:
    raise Unavailable("storage.full", "the disk is full")


async def test_a_node_that_has_lost_leadership_does_not_overwrite_the_state_of_the_next_leader() -> None:
    async with NotifiedScenario([]) as scenario:
        await buyer(scenario)
        await scenario.subscribe()
        await scenario.work()
        known = await scenario.store.load() or b""
        of_other = decode_state(known)
        of_other.seq += 1
        assert await scenario.store.save(encode_state(of_other), known)
        await fail_order(scenario)
        with pytest.raises(Unavailable, match="another node"):
            await scenario.follower.catch_up()
        assert await scenario.store.load() == encode_state(of_other)
        await scenario.wait(20)
        assert scenario.recorded.told() == [("dead-letter", 1)]
