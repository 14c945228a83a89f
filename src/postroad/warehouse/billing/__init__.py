"""Billing in the warehouse: the calculation in Spark, and an independent one in DuckDB that checks it.

``price_list`` reads tariffs, billing settings and owners from the table ``log``; ``uses``, ``prices`` and ``sharing`` are the
steps from events to charges, as expressions of Spark; ``jobs/billing_refresh`` refreshes the tables, and ``ledger`` reads them
without Spark; ``recount`` and ``reconciliation`` do the same work independently. Rule: ``core/billing`` defines what is right;
the results here must be equal, to the micro-unit, and a test compares them.
"""
