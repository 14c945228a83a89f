"""Desks keep used keys, queue heads and leases: the local desk in memory, the shared desk in PostgreSQL."""
