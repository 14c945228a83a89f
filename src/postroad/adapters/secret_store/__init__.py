"""Stores sealed secrets: a SQLite file beside the journal, or tables in PostgreSQL."""
