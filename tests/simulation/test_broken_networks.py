"""Networks with a mistake built in are found out, each with the promise it breaks. Without this, passing would mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.adapters.desk.group_commit import Done
from postroad.adapters.desk.local import LocalDesk
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveryResent, MessagePosted
from postroad.core.projection.unique_keys import FLAGGED_FROM
from postroad.ports import Clock, Committed, Conflict, JournalStep
from postroad.testing.simulation.network import NetworkBuild
from postroad.testing.simulation.scenario import simulate


class SaysYesTooEarly(LocalDesk):
    """Answers a post before it is durable."""

    def submit(self, step: JournalStep, done: Done) -> None:
        if isinstance(step.entry, MessagePosted) and step.entry.answers is None:
            super().submit(step, lambda outcome: None)
            done(Committed(0))
        else:
            super().submit(step, done)


class ForgetsAcknowledgements(LocalDesk):
    """Answers an acknowledgement and writes nothing down."""

    def submit(self, step: JournalStep, done: Done) -> None:
        if isinstance(step.entry, DeliveriesAcknowledged):
            done(Committed(0))
        else:
            super().submit(step, done)


class ForgetsKeys(LocalDesk):
    """Does not look whether a handle was used, or a delivery answered, before."""

    def _conflicts(self, steps: Sequence[JournalStep]) -> dict[int, Conflict]:
        return {}


class ResendsTwice(LocalDesk):
    """Does not look whether somebody else is dealing with a dead letter at the same time."""

    def submit(self, step: JournalStep, done: Done) -> None:
        if isinstance(step.entry, DeliveryResent):
            step = replace(step, keys=(), absent=(), waiting=())
        super().submit(step, done)


class ForgetsQueues(LocalDesk):
    """Begins with empty mailboxes after every start."""

    async def open(self) -> None:
        self._hot.applied_seq = (await self._index.position()).seq
        await self._hot.keys.load(self._index)
        await self._hot.flagged.load_from(self._index, FLAGGED_FROM)
        self._group.start()


class TooYoung:
    """A clock on which nothing ever expires."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_us(self) -> int:
        return 0

    def monotonic(self) -> float:
        return self._clock.monotonic()


class NeverExpires(LocalDesk):
    def __init__(self, journal: Any, index: Any, clock: Clock, **others: Any) -> None:
        super().__init__(journal, index, TooYoung(clock), **others)


@pytest.mark.parametrize(
    "asked",
    [
        {"seed": 3, "days": 0.3, "posts": 150, "crashes": 30},
        {"seed": 15, "days": 0.5, "posts": 120, "services": 7, "dealings": 25, "build": NetworkBuild(attempts_most=3)},
        {"seed": 15, "days": 0.5, "posts": 200, "services": 7, "suspensions": 12},
    ],
)
def test_without_the_mistakes_the_same_runs_keep_every_promise(asked: dict[str, Any]) -> None:
    assert simulate(**asked).broken == ()


@pytest.mark.parametrize(
    ("build", "promise", "seed"),
    [
        (NetworkBuild(desk=SaysYesTooEarly), "nothing_accepted_is_lost", 3),
        (NetworkBuild(desk=ForgetsAcknowledgements), "an_acknowledgement_counts", 3),
        (NetworkBuild(desk=ForgetsKeys), "a_delivery_is_answered_once", 3),  # it takes two answers that race
        (NetworkBuild(desk=ForgetsQueues), "what_waits_is_handed_out", 3),
        (NetworkBuild(desk=NeverExpires, expiry=False), "nothing_is_handed_out_after_its_expiry", 3),
        (NetworkBuild(expiry=False), "every_journey_ends_once", 3),
    ],
)
def test_a_broken_network_is_found_out(build: NetworkBuild, promise: str, seed: int) -> None:
    report = simulate(seed, days=0.3, posts=150, crashes=30, build=build)
    assert any(fault.startswith(f"{promise}: ") for fault in report.broken), str(report)


def test_a_dead_letter_that_is_dealt_with_twice_is_found_out() -> None:
    report = simulate(
        15, days=0.5, posts=120, services=7, dealings=25, build=NetworkBuild(desk=ResendsTwice, attempts_most=3)
    )
    assert any(fault.startswith("a_dead_letter_is_dealt_with_once: ") for fault in report.broken), str(report)


@pytest.mark.parametrize(
    ("overlooking", "fault"),
    [
        ("postroad.flow.stages.deliver._check_standing", "was handed to"),
        ("postroad.core.model.snapshot.Directory.is_suspended", "was posted by"),
        ("postroad.core.model.snapshot.Directory.is_suspended", "was routed through"),
    ],
)
def test_a_suspension_that_is_overlooked_is_found_out(
    overlooking: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlooking, lambda *_: False)
    report = simulate(15, days=0.5, posts=200, services=7, suspensions=12)
    assert any(found.startswith("nothing_passes_a_suspended_service") and fault in found for found in report.broken)
