"""Where landing reads from: a journal that grows (segment files, PostgreSQL), or an archive of exported files.

log_source   LogSource: what landing asks of a journal     segments   the embedded journal's files
streaming    any LogSource as a Spark stream               postgres   the shared journal's table
archive      exported files, read by Spark itself
"""

from postroad.warehouse.sources.archive import Archive
from postroad.warehouse.sources.log_source import LogSource, Span
from postroad.warehouse.sources.opening import open_source
from postroad.warehouse.sources.postgres import PostgresLog
from postroad.warehouse.sources.segments import SegmentLog

__all__ = ["Archive", "LogSource", "PostgresLog", "SegmentLog", "Span", "open_source"]
