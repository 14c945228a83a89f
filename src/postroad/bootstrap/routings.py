"""Routings that the operator has written in Python, found by the names in the settings.

They are the operator's own code and run in the server with all that it may do; members only choose one by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from postroad.errors import Misconfigured
from postroad.services.callables import Routing


def load_routings(settings: Sequence[str]) -> dict[str, Routing]:
    """By name the functions that ``name=package.module:function`` says; raises Misconfigured with all that is wrong."""
    found: dict[str, Routing] = {}
    faults: list[str] = []
    for setting in settings:
        name, _, place = setting.partition("=")
        module, _, function = place.partition(":")
        try:
            routing = getattr(import_module(module.strip()), function.strip())
        except (ImportError, AttributeError, ValueError) as error:
            faults.append(f"routings: {setting}: {error}; write name=package.module:function")
            continue
        if not callable(routing):
            faults.append(f"routings: {setting}: that is not a function")
        found[name.strip()] = routing
    if faults:
        raise Misconfigured(faults)
    return found
