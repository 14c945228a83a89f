"""The key columns of each table, which define its row order; usually the first column."""

from __future__ import annotations

from postroad.core.projection.tables import TABLES

_OTHER_KEYS = {
    "seen": ("key", "seq"),
    "found": ("key", "seq"),
    "trail": ("number", "seq"),
    "object": ("kind", "key"),
    "object_version": ("kind", "key", "version"),
    "reference": ("owner", "map", "service", "key_name", "key_value"),
    "relation": (
        "owner",
        "map",
        "service",
        "key_name",
        "key_value",
        "other_service",
        "other_name",
        "other_value",
    ),
    "control_number": ("series", "number"),
}

KEYS: dict[str, tuple[str, ...]] = {table: _OTHER_KEYS.get(table, columns[:1]) for table, columns in TABLES.items()}
ACTIVITY_BITS = 12  # a service is noted once in every span of 4096 entries in which it sent or was sent something
SPAN_BITS = 14  # a key is remembered once in every span of 16 384 entries; its first use is the one that counts
