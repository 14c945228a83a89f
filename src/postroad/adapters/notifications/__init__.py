"""Stores what notifications remember: in a file beside the journal, or in PostgreSQL for all nodes."""
