"""Desks: who owns the keys seen, the queue heads and the leases. ``local`` keeps them in memory, ``shared`` in PostgreSQL."""
