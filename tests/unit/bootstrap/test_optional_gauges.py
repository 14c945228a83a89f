"""Gauges of backups, traces and memory: their values, and their absence where there is nothing to report."""

from __future__ import annotations

from pathlib import Path

from postroad.adapters.followers.cursors import MemoryCursors
from postroad.adapters.journal.backup.status import STATUS_FILE, Success, note_success
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.tracing.job import NAME, TracingStatus
from postroad.bootstrap.optional_gauges import BackupGauges, TraceGauge, watch_memory
from postroad.bootstrap.tracing import TraceCounts
from postroad.core.metrics.exposition import write_text
from postroad.core.metrics.registry import Metrics
from postroad.core.model.journal import DeliveriesAcknowledged, encode
from postroad.flow.concurrency.memory_watermark import MemoryWatermark
from postroad.ports import JournalHead, NewRecord
from postroad.testing.clocks import ManualClock

BACKUP = ("backup_last_success_timestamp_seconds", "backup_entry", "verify_last_success_timestamp_seconds")


def page(metrics: Metrics) -> str:
    return write_text(metrics.read())


async def test_backups_are_absent_until_there_is_one(tmp_path: Path) -> None:
    metrics = Metrics()
    gauges = BackupGauges(metrics, tmp_path)
    await gauges.read()
    assert page(metrics) == ""
    note_success(tmp_path, backup=Success(at=1_763_582_400.0, entry=4_711, folder="/backup"))
    await gauges.read()
    assert [metrics.value(name) for name in BACKUP] == [1_763_582_400, 4_711, 0]
    assert BACKUP[2] not in page(metrics)
    note_success(tmp_path, backup=Success(at=1_763_586_000.0, entry=4_712, folder="/backup"))
    await gauges.read()
    assert metrics.value("backup_first_success_timestamp_seconds") == 1_763_582_400
    note_success(tmp_path, backup=Success(at=1_763_582_400.0, entry=4_711, folder="/backup"))
    note_success(tmp_path, verify=Success(at=1_763_600_000.0, entry=4_711, folder="/backup"))
    await gauges.read()
    assert [metrics.value(name) for name in BACKUP] == [1_763_582_400, 4_711, 1_763_600_000]
    (tmp_path / STATUS_FILE).unlink()
    await gauges.read()
    assert page(metrics) == ""


async def test_traces_are_as_far_behind_as_the_first_entry_after_their_cursor_is_old() -> None:
    metrics, journal, cursors, clock = Metrics(), MemoryJournal(), MemoryCursors(), ManualClock()
    gauge = TraceGauge(metrics, journal, cursors, clock)
    await gauge.read()
    assert metrics.value("traces_behind_seconds") == 0
    for _ in range(2):
        await journal.append([NewRecord(encode(DeliveriesAcknowledged(clock.now_us(), "b", (1,))), b"")])
        clock.advance(60)
    await cursors.save(NAME, JournalHead(1, b""))
    await gauge.read()
    assert metrics.value("traces_behind_seconds") == 60
    await cursors.save(NAME, JournalHead(2, b""))
    await gauge.read()
    assert metrics.value("traces_behind_seconds") == 0


def test_counts_of_traces_go_on_when_their_process_is_started_again() -> None:
    metrics = Metrics()
    counts = TraceCounts(metrics)
    counts.begin()
    counts.note(TracingStatus(entry=10, spans=5))
    counts.note(TracingStatus(entry=20, spans=7, skipped_spans=2, skipped_traces=1))
    counts.begin()
    counts.note(TracingStatus(entry=30, spans=3, skipped_traces=1))
    assert metrics.value("trace_spans_total", "exported") == 10
    assert metrics.value("trace_spans_total", "skipped") == 2
    assert metrics.value("traces_skipped_total") == 2


def test_memory_is_reported_if_it_is_measured() -> None:
    class HalfUsed:
        def used_share(self) -> float:
            return 0.5

        def release(self) -> None:
            raise AssertionError

    metrics = Metrics()
    memory = MemoryWatermark(HalfUsed(), 0.6, ManualClock())
    watch_memory(metrics, memory)
    assert page(metrics) == ""
    memory.check()
    assert "postroad_memory_used_ratio 0.5\n" in page(metrics)
    assert "postroad_memory_limit_ratio 0.6\n" in page(metrics)
