"""Messages and policies for the tests of batching, made in one line each; times are seconds since a Monday morning."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from postroad.core.batching import ArrivalResult, add_to_batch, arrival_of
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Port
from postroad.core.model.message import Part, Property
from postroad.core.routing.conditions.subject import Subject
from tests.samples.conditions import HEADER, xml

MONDAY_US = 1_767_600_000_000_000  # 2026-01-05T08:00:00Z
SECOND_US = 1_000_000
UTC_PORT = Port()


def at(seconds: float) -> int:
    return MONDAY_US + round(seconds * SECOND_US)


def message(body: str = "<o/>", **properties: str) -> Subject:
    header = replace(HEADER, properties=tuple(Property(name, value) for name, value in properties.items()))
    parts: tuple[Part, ...] = (xml(body),)
    return Subject(header=header, parts=parts)


class Batcher:
    """What a batcher does, in memory: one open batch for each key, and everything that was ever closed."""

    def __init__(self, policy: BatchPolicy, port: Port = UTC_PORT) -> None:
        self.policy, self.port = policy, port
        self.open: dict[tuple[str, ...], Batch] = {}
        self.members: dict[str, list[int]] = {}
        self.done: list[Batch] = []
        self.alone: list[int] = []
        self.came = 0

    def take(
        self, seconds: float = 0, *, kind: str = "850", size: int = 10, subject: Subject | None = None
    ) -> ArrivalResult:
        self.came += 1
        member = BatchMember(number=self.came, bytes=size, kind=kind)
        arrival = arrival_of(self.policy, subject or message(), member)
        current = self.open.pop(arrival.key, None)
        arrived = add_to_batch(self.policy, self.port, arrival, current, f"b{len(self.members) + 1}", at(seconds))
        self._keep(arrived, current)
        return arrived

    def _keep(self, arrived: ArrivalResult, current: Batch | None) -> None:
        if arrived.batch is None:
            self.alone.append(self.came)
            return
        assert current is None or current.id in {batch.id for batch in arrived if batch is not None}
        if arrived.before is not None:
            self.done.append(arrived.before)
        self.members.setdefault(arrived.batch.id, []).append(self.came)
        if arrived.batch.state is BatchState.OPEN:
            self.open[arrived.batch.key] = arrived.batch
        else:
            self.done.append(arrived.batch)

    def take_all(self, seconds: Iterable[float]) -> None:
        for second in seconds:
            self.take(second)

    @property
    def gone(self) -> list[tuple[list[int], str]]:
        """The closed batches: their members, and what closed them."""
        return [(self.members[batch.id], str(batch.closed_by)) for batch in self.done]
