"""Deletes files of a table's folder that no commit names: left by failed writes or later commits.

Rule: a file is deleted only if the table does not name it and it is older than any job may run, since a job's files lie
there for a moment before the commit that names them.
"""

from __future__ import annotations

import time
from pathlib import Path

from deltalake import DeltaTable

from postroad.warehouse.store.file_paths import list_files

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
