"""The paths of a table's files, decoded from Delta's URL-encoded names.

``deltalake`` writes paths as they stand in an address: a space is ``%20`` there, and a letter with an accent several signs. Kept
rule: no one else in the warehouse asks it for files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from deltalake import DeltaTable

ELSEWHERE = "://"  # what is not on this machine keeps its address


def list_files(table: DeltaTable, partition: str = "", values: Iterable[str] = ()) -> list[str]:
    """Return the current Parquet files of the table or of these partitions, by their real names."""
    chosen = [(partition, "in", list(values))] if partition else None
    return [path if ELSEWHERE in path else unquote(path) for path in table.file_uris(file_pruning_predicate=chosen)]
