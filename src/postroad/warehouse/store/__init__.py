"""Where tables are kept: ``TableStore`` is what jobs need, ``DeltaStore`` what comes with postroad."""

from postroad.warehouse.store.delta import DeltaStore
from postroad.warehouse.store.table_store import TableStore, partition_column

__all__ = ["DeltaStore", "TableStore", "partition_column"]
