"""The warehouse: the journal as tables, by PySpark; see ``docs/explanation/warehouse.md``.

``sources`` read the journal, ``landing`` converts its entries to rows, ``store`` keeps tables, ``jobs`` connect them.
Rule: the journal is the truth and is only read; every table here can be deleted and rebuilt. Nothing in the server
imports this package, and it needs the extra ``postroad[warehouse]``.
"""
