"""Figures from rounds: medians of each side, the ratios between them, and whether the floors hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from benchmarks.measuring import Measurement
from benchmarks.scenarios import Scenario

MAX_FOREIGN_CORES = 0.15  # with more than this elsewhere on the machine, the figures are not worth publishing


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The medians of one side's rounds."""

    messages_per_s: float
    cpu_us: float
    post_p50_ms: float
    post_p99_ms: float
    end_to_end_p50_ms: float
    end_to_end_p99_ms: float
    foreign_cores: float


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One floor: what was asked, what was reached."""

    what: str
    floor: float
    reached: float
    at_most: bool = False

    @property
    def holds(self) -> bool:
        return self.reached <= self.floor if self.at_most else self.reached >= self.floor


class Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """Ours to the peer's; more is better for messages and per CPU, less for the time under way."""

    messages: float
    per_cpu: float
    post_p99: float
    end_to_end_p99: float | None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    ours: Figures
    peer: Figures | None
    ratios: Ratios | None
    verdicts: list[Verdict]
    rounds: dict[str, list[Measurement]]


def figures(rounds: Sequence[Measurement], *, consumes: bool) -> Figures:
    def middle(value: Callable[[Measurement], float]) -> float:
        return median(value(measurement) for measurement in rounds)

    return Figures(
        messages_per_s=middle(lambda m: m.load.received_per_s if consumes else m.load.posted_per_s),
        cpu_us=middle(lambda m: m.server_cpu_us),
        post_p50_ms=middle(lambda m: m.load.post_p50_us / 1000),
        post_p99_ms=middle(lambda m: m.load.post_p99_us / 1000),
        end_to_end_p50_ms=middle(lambda m: m.load.end_to_end_p50_us / 1000),
        end_to_end_p99_ms=middle(lambda m: m.load.end_to_end_p99_us / 1000),
        foreign_cores=middle(lambda m: m.foreign_cores),
    )


def ratios(ours: Figures, peer: Figures, *, consumes: bool) -> Ratios:
    return Ratios(
        messages=ours.messages_per_s / peer.messages_per_s,
        per_cpu=peer.cpu_us / ours.cpu_us,
        post_p99=ours.post_p99_ms / peer.post_p99_ms,
        end_to_end_p99=ours.end_to_end_p99_ms / peer.end_to_end_p99_ms if consumes else None,
    )


def verdicts(scenario: Scenario, reached: Ratios) -> list[Verdict]:
    floor = scenario.floor
    asked = (
        ("messages", floor.messages, reached.messages, False),
        ("per CPU", floor.per_cpu, reached.per_cpu, False),
        ("end-to-end p99", floor.end_to_end_p99, reached.end_to_end_p99, True),
    )
    return [
        Verdict(what=what, floor=wanted, reached=value, at_most=at_most)
        for what, wanted, value, at_most in asked
        if wanted is not None and value is not None
    ]


def row(scenario: Scenario, rounds: dict[str, list[Measurement]]) -> Row:
    ours = figures(rounds["ours"], consumes=scenario.consumes)
    if "peer" not in rounds:
        return Row(scenario=scenario.name, ours=ours, peer=None, ratios=None, verdicts=[], rounds=rounds)
    peer = figures(rounds["peer"], consumes=scenario.consumes)
    reached = ratios(ours, peer, consumes=scenario.consumes)
    return Row(
        scenario=scenario.name,
        ours=ours,
        peer=peer,
        ratios=reached,
        verdicts=verdicts(scenario, reached),
        rounds=rounds,
    )
