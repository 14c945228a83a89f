"""A scenario whose traces are exported to a collector in this process, and spans drawn as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

from postroad.adapters.followers.cursors import MemoryCursors
from postroad.adapters.tracing.job import NAME, Tracing, TracingJob, build_tracing
from postroad.flow.followers import JournalFollower
from postroad.testing import Scenario
from postroad.testing.otlp_receiver import OtlpReceiver, ReceivedSpan, otlp_receiver
from tests.waiting import forever

BUYER, SELLER, STAMP = "MyBiz/Buyer", "Acme/Supply", "Transmatics/Stamp"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = f"00-{TRACE}-{SPAN}-01"


async def always() -> bool:
    return True


def trace(scenario: Scenario, collector: OtlpReceiver, **sampling: Any) -> Tracing:
    """Build what exports the traces of a scenario; every trace unless ``share`` says otherwise."""

    async def wait_for_entry(seq: int) -> None:
        await scenario.network.wait_until_indexed()

    usual = {"headers": {}, "share": 1.0, "slow_s": 300, "per_s": 1_000, "patience_s": 600, "join": "parent"}
    job = TracingJob(**{"to": collector.url, **usual, **sampling})
    network = scenario.network
    return build_tracing(job, network.journal, network.index, scenario.clock, wait_for_entry=wait_for_entry)


def follower_of(scenario: Scenario, tracing: Tracing, cursors: MemoryCursors) -> JournalFollower:
    handle = tracing.follower.handle
    return JournalFollower(NAME, scenario.network.journal, cursors, handle=handle, arrived=forever, leads=always)


class TracedScenario(Scenario):
    """A buyer, a seller and a service on the way; every trace is exported unless ``share`` says otherwise."""

    def __init__(self, **sampling: Any) -> None:
        super().__init__()
        self.sampling = sampling
        self.cursors = MemoryCursors()
        self.collector: OtlpReceiver
        self.tracing: Tracing
        self._collecting = ExitStack()
        self._opened: list[Tracing] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.collector = self._collecting.enter_context(otlp_receiver())
        for address in (BUYER, SELLER, STAMP):
            await self.service(address)
        self.follower = self.new_follower()
        await self.follower.catch_up()
        return self

    async def __aexit__(self, *error: object) -> None:
        for tracing in self._opened:
            await tracing.close()
        self._collecting.close()
        await super().__aexit__(*error)

    def new_follower(self, **options: Any) -> JournalFollower:
        """Return a follower without memory of earlier entries, as after a restart or on another node."""
        self.tracing = trace(self, self.collector, **{**self.sampling, **options})
        self._opened.append(self.tracing)
        return follower_of(self, self.tracing, self.cursors)

    async def spans(self) -> list[ReceivedSpan]:
        """Export what has ended, and return all spans so far."""
        await self.follower.catch_up()
        return self.collector.spans

    async def tree(self) -> str:
        return draw(await self.spans())


def draw(spans: Sequence[ReceivedSpan]) -> str:
    """Return the spans as an indented tree, in the order of their times, with what does not differ between runs."""
    children: dict[str, list[ReceivedSpan]] = {}
    known = {span.span_id for span in spans}
    for span in spans:
        children.setdefault(span.parent_id if span.parent_id in known else "", []).append(span)
    lines: list[str] = []

    def add(parent_id: str, depth: int) -> None:
        for span in sorted(children.get(parent_id, []), key=lambda one: (one.start_ns, one.name)):
            events = "".join(f" [{name}]" for name, _, _ in span.events)
            state = f" {span.attributes['postroad.state']}" if "postroad.state" in span.attributes else ""
            error = f" ERROR {span.error}" if span.error else ""
            lines.append(f"{'  ' * depth}{span.name}{state}{error}{events}")
            add(span.span_id, depth + 1)

    add("", 0)
    return "\n".join(lines)
