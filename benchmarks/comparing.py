"""A comparison from start to end: servers up, rounds in turn, servers gone; one scenario's failure does not end the others."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from benchmarks import machine, rabbitmq
from benchmarks.certificates import Certificate, make_certificate
from benchmarks.measuring import Measurement, Round, interleaved
from benchmarks.network import NetworkServer
from benchmarks.rabbitmq import RabbitMq
from benchmarks.results import Row, row
from benchmarks.scenarios import Scenario
from benchmarks.sides import Duration, OurSide, PeerSide

WORK = Path(__file__).parent.parent / "var"
WARMUP_MS = 500

progress = Console(stderr=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    rounds: int
    seconds: float

    @property
    def duration(self) -> Duration:
        return Duration(warmup_ms=WARMUP_MS, measure_ms=int(self.seconds * 1000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came out: a row for each scenario that ran, a reason for each that did not."""

    machine: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder on the disk of the checkout: a temporary folder may lie in memory, where syncing costs nothing."""
    WORK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK, prefix="benchmark-") as folder:
        yield Path(folder)


@contextmanager
def peer_in(folder: Path, certificate: Certificate) -> Iterator[RabbitMq | None]:
    if reason := rabbitmq.missing():
        progress.print(f"Without a peer: {reason}", style="yellow")
        yield None
    else:
        with RabbitMq(folder / "rabbitmq", certificate) as peer:
            yield peer


def compare_all(scenarios: Sequence[Scenario], pace: Pace) -> Comparison:
    with work_folder() as folder:
        certificate = make_certificate(folder / "certificate")
        with peer_in(folder, certificate) as peer:
            done = Comparison(machine=machine.description(folder, with_peer=peer is not None))
            for scenario in scenarios:
                try:
                    done.rows.append(compare(scenario, folder, certificate, peer, pace))
                except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                    done.failures[scenario.name] = str(error)
                    progress.print(f"{scenario.name} failed: {error}", style="red", markup=False)
    return done


def compare(scenario: Scenario, folder: Path, certificate: Certificate, peer: RabbitMq | None, pace: Pace) -> Row:
    """All rounds of one scenario, our side on a network of its own."""
    place = folder / scenario.name
    (place / "load").mkdir(parents=True)
    with NetworkServer(
        place / "network", shared=scenario.shared, certificate=certificate if scenario.tls else None
    ) as network:
        ours = OurSide(network, scenario, place / "load")
        sides: dict[str, Round] = {"ours": lambda: ours.round(pace.duration)}
        if peer is not None:
            other = PeerSide(peer, scenario, place / "load")
            sides["peer"] = lambda: other.round(pace.duration)
        return row(scenario, interleaved(sides, pace.rounds, lambda side, result: tell(scenario, side, result)))


def tell(scenario: Scenario, side: str, result: Measurement) -> None:
    rate = result.load.received_per_s if scenario.consumes else result.load.posted_per_s
    progress.print(
        f"{scenario.name:<22} {side:<5} {rate:>9,.0f} msg/s  {result.server_cpu_us:7.1f} µs CPU"
        f"  foreign {result.foreign_cores:.2f} cores",
        highlight=False,
    )
