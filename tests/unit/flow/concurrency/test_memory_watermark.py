"""When memory is short, said once, and when it is released."""

from __future__ import annotations

import pytest

from postroad.flow.concurrency.memory_watermark import RELEASE_EVERY_S, MemoryWatermark
from postroad.testing.clocks import ManualClock


class Gauge:
    def __init__(self, share: float | None) -> None:
        self.share = share
        self.released = 0

    def used_share(self) -> float | None:
        return self.share

    def release(self) -> None:
        self.released += 1


def test_it_is_exceeded_above_its_share_and_logs_each_change_once(caplog: pytest.LogCaptureFixture) -> None:
    gauge = Gauge(0.5)
    watermark = MemoryWatermark(gauge, 0.6, ManualClock())
    assert not watermark.check()
    gauge.share = 0.7
    assert [watermark.check() for _ in range(3)] == [True] * 3
    gauge.share = 0.6
    assert not watermark.check()
    assert [record.message for record in caplog.records] == [
        "memory.high: the server uses 70 % of its memory: new posts wait",
        "memory.recovered: the server's memory is below the watermark again: posts are accepted",
    ]


def test_freed_memory_is_returned_from_time_to_time() -> None:
    gauge, clock = Gauge(0.7), ManualClock()
    watermark = MemoryWatermark(gauge, 0.6, clock)
    for _ in range(3):
        watermark.check()
    assert gauge.released == 1
    clock.advance(RELEASE_EVERY_S)
    watermark.check()
    assert gauge.released == 2


def test_without_a_measure_or_a_share_nothing_is_exceeded(caplog: pytest.LogCaptureFixture) -> None:
    assert not MemoryWatermark(Gauge(0.99), 0.0, ManualClock()).check()
    assert caplog.records == []
    assert not MemoryWatermark(Gauge(None), 0.6, ManualClock()).check()
    assert "memory_most_share has no effect" in caplog.text
