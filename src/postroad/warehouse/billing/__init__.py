"""Billing in the warehouse: the marts' calculation in Spark, and a second one in DuckDB that checks it.

``price_list`` reads tariffs, books and owners out of the table ``log``; ``uses``, ``prices`` and ``sharing`` are the steps from
events to charges, as expressions of Spark; ``refresh`` brings the tables up to date, and ``tables`` reads them without Spark;
``recount`` and ``reconciling`` do the same work by another way. Kept rule: ``core/billing`` says what is right; what is here must
come to the same, to the micro-unit, and a test compares.
"""
