"""Table storage: ``TableStore`` is the interface, ``DeltaStore`` the implementation."""

from postroad.warehouse.store.delta import DeltaStore
from postroad.warehouse.store.table_store import TableStore, partition_column

__all__ = ["DeltaStore", "TableStore", "partition_column"]
