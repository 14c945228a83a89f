"""Exports the journal's events as files that can be landed elsewhere as an archive.

Rule: a file gets its name when it is complete, and the name contains its entry range; so an interrupted export
continues where it stopped, and readers of the folder never see half a file. No Spark is needed. Rule: the folder also
contains the journal's chain value after each file, written before the file itself. A journal that does not pass
through the last value is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from postroad.errors import Misconfigured
from postroad.warehouse.landing.log import SCHEMA, event_batches
from postroad.warehouse.sources.archive import Form, Reached, chain_path, read_chain
from postroad.warehouse.sources.log_source import EntrySpan, LogSource

ENTRIES_PER_FILE = 250_000
UNFINISHED = ".tmp"
NAME = re.compile(r"(\d{20})-(\d{20})\.(jsonl|parquet)\Z")

_line = msgspec.json.Encoder().encode


def export(
    source: LogSource,
    folder: Path,
    form: Form,
    *,
    entries_per_file: int = ENTRIES_PER_FILE,
    exported: Callable[[int], None] = lambda upto: None,
) -> EntrySpan:
    """Write what the folder lacks, up to the journal's head; returns the range of entries."""
    folder.mkdir(parents=True, exist_ok=True)
    after = done = exported_seq(folder, form)
    head = source.head()
    _require_same_history(folder, form, source, head, after)
    while done < head:
        span = EntrySpan(done, min(head, done + entries_per_file))
        _note_chain(folder, form, span, source.chain_at(span.upto).hex())
        _write_file(
            folder / f"{span.after + 1:020d}-{span.upto:020d}.{form}", form, event_batches(source.records(span))
        )
        done = span.upto
        exported(done)
    return EntrySpan(after, done)


def exported_seq(folder: Path, form: Form) -> int:
    """The last entry that the folder holds; 0 when there is none."""
    names = [match for path in folder.iterdir() if (match := NAME.match(path.name)) and match[3] == form]
    return max((int(match[2]) for match in names), default=0)


def _require_same_history(folder: Path, form: Form, source: LogSource, head: int, after: int) -> None:
    """Refuse a journal that is shorter than the export, or has another history. Exports of earlier versions noted no chain."""
    noted = read_chain(folder, form)
    reached = noted[-1] if noted else None
    seq = reached.seq if reached else after
    if head < after or head < seq or (reached and seq and source.chain_at(seq).hex() != reached.chain):
        raise Misconfigured(
            [
                f"{folder} holds entries up to {max(seq, after)} of another journal, or of this one before it was restored from "
                "a copy; export into another folder"
            ]
        )


def _note_chain(folder: Path, form: Form, span: EntrySpan, chain: str) -> None:
    """Add the chain value after a file that is about to be written; one of a file that was not finished is replaced."""
    path = chain_path(folder, form)
    noted = [reached for reached in read_chain(folder, form) if reached.seq <= span.after]
    unfinished = path.with_suffix(UNFINISHED)
    unfinished.write_bytes(b"".join(_line(reached) + b"\n" for reached in [*noted, Reached(span.upto, chain)]))
    os.replace(unfinished, path)


def _write_file(path: Path, form: Form, batches: Iterable[pa.RecordBatch]) -> None:
    unfinished = path.with_name(path.name + UNFINISHED)
    WRITERS[form](unfinished, batches)
    os.replace(unfinished, path)


def _write_parquet(path: Path, batches: Iterable[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_lines(path: Path, batches: Iterable[pa.RecordBatch]) -> None:
    with path.open("wb") as file:
        for batch in batches:
            file.writelines(_line(_present(row)) + b"\n" for row in batch.to_pylist())


def _present(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what is null, which most of its columns are."""
    return {name: value for name, value in row.items() if value is not None}


WRITERS: dict[Form, Callable[[Path, Iterable[pa.RecordBatch]], None]] = {
    "parquet": _write_parquet,
    "jsonl": _write_lines,
}
