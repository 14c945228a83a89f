"""Makes a source from its kind and options, in the driver and in every worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from postroad.errors import Misconfigured
from postroad.warehouse.sources.log_source import LogSource
from postroad.warehouse.sources.postgres import PostgresLog
from postroad.warehouse.sources.segments import SegmentLog

SOURCES: dict[str, Callable[[Mapping[str, str]], LogSource]] = {
    "segments": lambda options: SegmentLog(folder=Path(options["folder"])),
    "postgres": lambda options: PostgresLog(url=options["database_url"]),
}


def open_source(kind: str, options: Mapping[str, str]) -> LogSource:
    if kind not in SOURCES:
        raise Misconfigured([f"there is no log source {kind!r}; choose one of {', '.join(SOURCES)}"])
    return SOURCES[kind](options)
