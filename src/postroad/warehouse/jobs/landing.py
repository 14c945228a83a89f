"""Landing: adds new entries of a journal or an archive to the table ``log``, exactly once.

Rules: the table itself records the progress of landing, in the same commit as the rows: the number of the last entry
and the journal's chain value there. A journal that does not contain both is another one, or was restored, and is
refused. A stream begins there, and Spark's own checkpoint is temporary and lasts as long as one run. So there is one
truth, and nothing to reconcile after a crash: a batch is in the table with its number, or it is missing and is read
again. A failed job is reported in one sentence: an error that was raised on purpose keeps its text; of any other the
innermost cause is reported. Nothing is retried.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from postroad.errors import Misconfigured, Unavailable
from postroad.warehouse.progress import name_stages
from postroad.warehouse.sources.archive import Archive
from postroad.warehouse.sources.log_source import EntrySpan, LogSource
from postroad.warehouse.store.table_store import LANDED_ON, NEVER, TableStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ON_PURPOSE = re.compile(r"postroad\.errors\.(?:Unavailable|Misconfigured|Refused): (.+)")
CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", re.MULTILINE)


@contextmanager
def explain_spark_errors() -> Iterator[None]:
    """Raise errors of a job as ``Unavailable`` with a short text; nothing of the job was committed."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise Unavailable(
            "warehouse.failed", f"{find_error_text(str(error))}; nothing was written, run it again once it is fixed"
        ) from error


def find_error_text(text: str) -> str:
    """Return the most specific sentence of a Spark error: postroad's own text, else the innermost cause."""
    if found := ON_PURPOSE.search(text):
        return found[1].strip()
    causes = CAUSE.findall(text)
    return causes[-1].strip() if causes else text.strip().partition("\n")[0]


TABLE = "log"
APP = "landing"
# The chain value at the last entry, in pieces. A version may only grow, so each is the entry's number followed by a piece of
# the value. Always the same three, because the table remembers every app that ever wrote. Earlier versions wrote none.
CHAIN = ("landing chain 1", "landing chain 2", "landing chain 3")
ARCHIVE_CHAIN = ("archive chain 1", "archive chain 2", "archive chain 3")  # at the last entry of the archive's files
CHAIN_BITS = 23  # in each; 40 are left for the entry's number
FILES_PER_COMMIT = 32

Landed = Callable[[int], None]  # told how many entries, or files of an archive, are in the table by now


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The result of one landing run."""

    after: int  # last entry that was there before
    upto: int  # last entry that is there now
    batches: int
    files: int = 0  # of an archive


def landed_seq(store: TableStore) -> int:
    """Return the last journal entry in the table; 0 if there is none."""
    return max(0, store.version(TABLE, APP))


def land(
    spark: SparkSession,
    store: TableStore,
    source: LogSource,
    *,
    entries_per_batch: int = 0,
    landed: Landed = lambda upto: None,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
) -> Landing:
    """Land every entry up to the journal's head as it is now."""
    from postroad.warehouse.sources.streaming import log_stream

    after = landed_seq(store)
    mark = _checked_mark(store, source, after)
    if source.head() == after:
        return Landing(after=after, upto=after, batches=0)
    batches = 0
    with tempfile.TemporaryDirectory(prefix="postroad-landing-") as scratch:

        def land_batch(frame: DataFrame, number: int) -> None:
            nonlocal batches
            upto = batch_end(Path(scratch), number)
            name_stages(spark, f"entries up to {upto}")
            versions = {APP: upto, mark: upto, **_chain_versions(CHAIN, upto, source.chain_at(upto))}
            batches += store.append_all(_dated(frame, today()), TABLE, versions)
            landed(upto)

        stream = log_stream(spark, source, after=after, entries_per_batch=entries_per_batch)
        writer = stream.writeStream.foreachBatch(land_batch).option("checkpointLocation", f"file://{scratch}")
        with explain_spark_errors():
            writer.trigger(availableNow=True).start().awaitTermination()
    return Landing(after=after, upto=landed_seq(store), batches=batches)


def _checked_mark(store: TableStore, source: LogSource, after: int) -> str:
    """Return the name under which the table knows this journal; another journal is refused."""
    first = next((facts for _, facts, _ in source.records(EntrySpan(0, min(1, source.head())))), b"")
    mark = f"journal {sha256(first).hexdigest()[:16]}"
    if after and (
        store.version(TABLE, mark) == NEVER or source.head() < after or not _is_on_chain(store, source, after)
    ):
        raise Misconfigured(
            [
                f"the warehouse holds {after} entries of another journal, or of this one before it was restored from a copy; "
                "choose another folder with --warehouse, or delete this one to land everything again"
            ]
        )
    return mark


def _is_on_chain(store: TableStore, source: LogSource, after: int) -> bool:
    """Whether the journal has the chain value that the table has for its last entry, if it has one."""
    landed = {app: store.version(TABLE, app) for app in CHAIN}
    if min(landed.values()) >> CHAIN_BITS < after:
        return True
    return landed == _chain_versions(CHAIN, after, source.chain_at(after))


def _chain_versions(apps: tuple[str, ...], seq: int, chain: bytes) -> dict[str, int]:
    value = int.from_bytes(chain, "big")
    pieces = [value >> CHAIN_BITS * place & (1 << CHAIN_BITS) - 1 for place in range(len(apps))]
    return {app: seq << CHAIN_BITS | piece for app, piece in zip(apps, pieces, strict=True)}


def batch_end(checkpoint: Path, number: int) -> int:
    """Return the last entry of a batch, as Spark recorded it before the batch began."""
    offset = (checkpoint / "offsets" / str(number)).read_text().splitlines()[-1]
    return int(json.loads(offset)["seq"])


def land_archive(
    spark: SparkSession,
    store: TableStore,
    archive: Archive,
    *,
    landed: Landed = lambda files: None,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
) -> Landing:
    """Land the archive's files that are not in the table yet; each is recorded by name in the table's log."""
    after = landed_seq(store)
    chain = archive.chain()
    reached = _archive_landed(store, archive, chain)
    new = [file for file in archive.files() if store.version(TABLE, _file_app(file)) == NEVER]
    batches = 0
    for start in range(0, len(new), FILES_PER_COMMIT):
        files = new[start : start + FILES_PER_COMMIT]
        frame = _dated(archive.frame(spark, files), today())
        with explain_spark_errors():
            versions = {_file_app(file): 0 for file in files}
            last = max((seq for file in files if (seq := last_entry(file)) in chain), default=0)
            if last > reached:
                versions |= _chain_versions(ARCHIVE_CHAIN, last, chain[last])
                reached = last
            batches += store.append_all(frame, TABLE, versions)
        landed(start + len(files))
    return Landing(after=after, upto=landed_seq(store), batches=batches, files=len(new))


def _archive_landed(store: TableStore, archive: Archive, chain: Mapping[int, bytes]) -> int:
    """The last entry of the archive's files in the table, as far as it is known; an archive of another history is refused."""
    versions = {app: store.version(TABLE, app) for app in ARCHIVE_CHAIN}
    reached = max(0, min(versions.values()) >> CHAIN_BITS)
    if reached and chain and versions != _chain_versions(ARCHIVE_CHAIN, reached, chain.get(reached, b"")):
        raise Misconfigured(
            [
                f"the warehouse holds {reached} entries of another archive than {archive.folder}, or of one exported before "
                "the journal was restored from a copy; choose another folder with --warehouse"
            ]
        )
    return reached


def last_entry(file: Path) -> int:
    """The number of the last entry in a file of an archive, by its name; 0 if the name does not tell."""
    last = file.stem.rpartition("-")[2]
    return int(last) if last.isdecimal() else 0


def _file_app(file: Path) -> str:
    return f"{APP}:{file.stem}"  # which entries, whatever the form


def _dated(frame: DataFrame, day: date) -> DataFrame:
    from pyspark.sql import functions

    return frame.withColumn(LANDED_ON, functions.lit(day))
