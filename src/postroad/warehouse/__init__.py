"""The warehouse: the journal as tables, by PySpark; see ``docs/explanation/warehouse.md``.

``sources`` read the journal, ``landing`` turns its entries into rows, ``store`` keeps tables, ``jobs`` bring them together.
Rule: the journal is the truth and is only read; every table here can be thrown away and rebuilt. Nothing in the server
imports this package, and it needs the extra ``postroad[warehouse]``.
"""
