"""Python routings of the operator, loaded by the names in the settings.

They are the operator's own code and run in the server with all its permissions; members only choose one by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from postroad.errors import Misconfigured
from postroad.services.exchange.callables import Routing


def load_routings(settings: Sequence[str]) -> dict[str, Routing]:
    """Load the functions of ``name=package.module:function`` by name; Misconfigured lists all errors."""
    found: dict[str, Routing] = {}
    faults: list[str] = []
    for setting in settings:
        name, _, place = (part.strip() for part in setting.partition("="))
        try:
            routing = _function(place)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            faults.append(f"routings: {setting}: {error}; write name=package.module:function")
            continue
        if not name:
            faults.append(f"routings: {setting}: it needs a name; write name=package.module:function")
        elif name in found:
            faults.append(f"routings: {setting}: {name} is repeated")
        found[name] = routing
    if faults:
        raise Misconfigured(faults)
    return found


def _function(place: str) -> Routing:
    module, _, name = place.partition(":")
    routing: Routing = getattr(import_module(module), name)
    if not callable(routing):
        raise TypeError("that is not a function")
    return routing
