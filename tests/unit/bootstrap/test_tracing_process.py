"""The supervision of the tracing process continues when the process cannot be started."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

import pytest

from postroad.adapters.tracing.job import TracingJob
from postroad.bootstrap import tracing
from postroad.bootstrap.tracing import TraceCounts, TracingProcess
from postroad.core.metrics.registry import Metrics
from tests.waiting import eventually_async

JOB = TracingJob(
    to="http://127.0.0.1:9/v1/traces",
    headers={},
    share=1.0,
    slow_s=1,
    per_s=1,
    patience_s=1,
    join="parent",
    acceptance="local",
    index="sqlite",
    postgres="",
    journal="",
    index_file="",
    cursors="",
)


async def test_a_process_that_cannot_be_started_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_process, failures = asyncio.create_subprocess_exec, 2

    async def fail_first(*command: str, **options: Any) -> asyncio.subprocess.Process:
        nonlocal failures
        if failures:
            failures -= 1
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return await start_process("cat", **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fail_first)
    monkeypatch.setattr(tracing, "FIRST_BACK_OFF_S", 0.0)
    process = TracingProcess(JOB, TraceCounts(Metrics()))
    process.start()
    try:
        await eventually_async(lambda: process.pid, within_s=10)
    finally:
        await process.stop()
    lines = [line.getMessage() for line in caplog.records if line.levelno == logging.ERROR]
    assert [line.split(":")[0] for line in lines] == ["traces.process_not_started"] * 2
    assert "temporarily unavailable" in lines[0]
