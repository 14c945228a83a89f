"""Directories for tests, made of configuration objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from postroad.core.model.configuration_objects import object_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory


def make_directory(*objects: Any, version: int = 1) -> Directory:
    """Return the directory of these objects."""
    changes = [ObjectChange(*object_key(item), 1, msgspec.to_builtins(item)) for item in objects]
    known = Directory().apply_changes(changes, version)
    # The same objects, not copies, so that tests can compare by identity.
    for item in objects:
        kind, key = object_key(item)
        table = {"organization": known.organizations, "person": known.people, "service": known.services}.get(kind)
        if isinstance(table, dict):
            table[key] = item
    by_address = {item.address.casefold(): item for item in known.services.values()}
    return replace(known, _by_address=by_address, cache={})
