"""Desks own the keys seen, the queue heads and the leases: ``local`` in memory, ``shared`` in PostgreSQL."""
