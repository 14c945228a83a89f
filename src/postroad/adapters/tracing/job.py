"""The job and the status of the tracing process, and the follower that it runs; a network in memory runs it itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from postroad import __version__
from postroad.adapters.system import SystemClock
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.core.telemetry.sampling import TraceSampler, TraceSampling
from postroad.errors import Misconfigured
from postroad.flow.followers import FollowedJournal
from postroad.flow.stages.history import load_transaction
from postroad.flow.tracing.exporter import OtlpExporter
from postroad.flow.tracing.follower import TraceFollower
from postroad.ports import Clock, IndexReader

NAME = "traces"  # of the follower
SERVICE_NAME = "postroad"
EVERYWHERE = Permission.of(("0.0.0.0/0", "::/0"), ("*",))  # the operator chose the collector


class TracingJob(Struct, frozen=True, kw_only=True):
    """What the follower needs of the settings, with paths as text."""

    to: str
    headers: dict[str, str]
    share: float
    slow_s: int
    per_s: int
    patience_s: int
    join: str
    acceptance: str = "local"
    index: str = "memory"
    postgres: str = ""
    journal: str = ""
    index_file: str = ""
    cursors: str = ""


class TracingStatus(Struct, omit_defaults=True):
    """One line to the server: the entry reached, and counts since the process began."""

    entry: int = 0
    spans: int = 0  # exported
    skipped_spans: int = 0  # the collector was away for too long, or rejected them
    skipped_traces: int = 0  # above ``traces_per_s``


class Tracing(NamedTuple):
    """The parts of a follower that exports traces."""

    follower: TraceFollower
    exporter: OtlpExporter
    sampler: TraceSampler
    pusher: HttpPusher

    def status(self, entry: int) -> TracingStatus:
        """Return the counts since the start, at this entry."""
        return TracingStatus(
            entry=entry,
            spans=self.exporter.sent,
            skipped_spans=self.exporter.skipped,
            skipped_traces=self.sampler.skipped,
        )

    async def close(self) -> None:
        await self.pusher.close()


def build_tracing(
    job: TracingJob,
    journal: FollowedJournal,
    index: IndexReader,
    clock: Clock,
    *,
    wait_for_entry: Callable[[int], Awaitable[None]],
) -> Tracing:
    """Build the follower of one journal."""
    pusher = HttpPusher(resolver=SystemResolver(), clock=SystemClock(), permission=EVERYWHERE)
    sampler = TraceSampler(TraceSampling(share=job.share, slow_s=job.slow_s, per_s=job.per_s))
    exporter = OtlpExporter(
        job.to,
        pusher,
        clock,
        headers=job.headers,
        resource=(("service.name", SERVICE_NAME), ("service.version", __version__)),
        patience_s=job.patience_s,
    )
    follower = TraceFollower(
        journal,
        index,
        sampler=sampler,
        exporter=exporter,
        load_transaction=partial(load_transaction, index, journal),
        wait_for_entry=wait_for_entry,
        join=job.join,
    )
    return Tracing(follower, exporter, sampler, pusher)


def read_headers_file(path: str) -> dict[str, str]:
    """Return the headers in a file; raises Misconfigured if it cannot be read."""
    if not path:
        return {}
    try:
        lines = [line.strip() for line in Path(path).read_text("ascii").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured([f"traces_headers_file: {path} cannot be read: {error}"]) from None
    headers = {}
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or " " in name.strip() or not line.isprintable():
            raise Misconfigured([f"traces_headers_file: {path}, line {number}: write it as Name: value"])
        headers[name.strip().lower()] = value.strip()
    return headers
