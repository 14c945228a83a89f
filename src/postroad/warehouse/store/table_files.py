"""The files of a table's folder: the paths of those that the table names, and the deletion of those that no commit names.

Rules: ``deltalake`` returns paths as they are written in an address: a space is ``%20`` there, and a letter with an accent
several signs; nothing else in the warehouse asks it for files. A file is deleted only if the table does not name it and it
is older than any job may run, since a job's files are there for a moment before the commit that names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltalake import DeltaTable

if TYPE_CHECKING:
    from deltalake import DeltaTable


ELSEWHERE = "://"  # what is not on this machine keeps its address


def list_files(table: DeltaTable, partition: str = "", values: Iterable[str] = ()) -> list[str]:
    """Return the current Parquet files of the table or of these partitions, by their real names."""
    chosen = [(partition, "in", list(values))] if partition else None
    return [path if ELSEWHERE in path else unquote(path) for path in table.file_uris(file_pruning_predicate=chosen)]


LOG = "_delta_log"


def delete_orphans(table: DeltaTable, folder: Path, older_than_hours: float) -> int:
    """Delete orphaned files and empty folders; returns the number of files.

    ``folder`` goes by its real name, as the table's files do: under the name of a link, all of them would seem to be orphans.
    """
    named = {Path(path) for path in list_files(table)}
    before = time.time() - older_than_hours * 3600
    orphans = [
        path for path in folder.rglob("*") if path.is_file() and path not in named and _is_old(path, folder, before)
    ]
    for path in orphans:
        path.unlink(missing_ok=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path.relative_to(folder).parts[0] != LOG and not any(path.iterdir()):
            path.rmdir()
    return sum(path.suffix == ".parquet" for path in orphans)


def _is_old(path: Path, folder: Path, before: float) -> bool:
    return path.relative_to(folder).parts[0] != LOG and path.stat().st_mtime < before
