"""Sources of landing: a growing journal (segment files, PostgreSQL), or an archive of exported files.

log_source   LogSource: the interface to a journal         segments   the embedded journal's files
streaming    any LogSource as a Spark stream               postgres   the shared journal's table
registry     from a kind and options to a source           archive    exported files, read by Spark itself
"""

from postroad.warehouse.sources.archive import Archive
from postroad.warehouse.sources.log_source import EntrySpan, LogSource
from postroad.warehouse.sources.postgres import PostgresLog
from postroad.warehouse.sources.registry import open_source
from postroad.warehouse.sources.segments import SegmentLog

__all__ = ["Archive", "EntrySpan", "LogSource", "PostgresLog", "SegmentLog", "open_source"]
