"""Interchange standards and batchers from installed packages, found by their entry points.

Rule: an unusable plug-in stops the start, and all errors are reported at once; a batch is never assembled by a
different plug-in than the one installed for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from postroad.core.interchange.standard import BUILT_IN, PLUG_INS, Standard, StandardCatalogue
from postroad.core.model.batcher import BATCHERS, BatcherPlugIn
from postroad.errors import Misconfigured, Refused

Plug = TypeVar("Plug", Standard, BatcherPlugIn)


def load_catalogue(
    found: Iterable[EntryPoint] | None = None, batchers: Iterable[EntryPoint] | None = None
) -> StandardCatalogue:
    """Load the catalogue of built-in and installed standards, sorted by name so that it is the same everywhere."""
    catalogue, faults = BUILT_IN, list[str]()
    for point in sorted(entry_points(group=PLUG_INS) if found is None else found, key=lambda one: one.name):
        try:
            catalogue = catalogue.with_plug_ins([_loaded(point, Standard)])
        except Refused as refused:
            faults.append(f"{PLUG_INS} {point.name} ({point.value}): {refused.detail}")
    for point in sorted(entry_points(group=BATCHERS) if batchers is None else batchers, key=lambda one: one.name):
        try:
            catalogue = catalogue.with_batchers([_loaded(point, BatcherPlugIn)])
        except Refused as refused:
            faults.append(f"{BATCHERS} {point.name} ({point.value}): {refused.detail}")
    if faults:
        raise Misconfigured(faults)
    return catalogue


def _loaded(point: EntryPoint, kind: type[Plug]) -> Plug:
    try:
        found = point.load()
    except Exception as fault:  # a stranger's module may fail in any way
        raise Refused("interchange.unfit", f"it cannot be loaded: {type(fault).__name__}: {fault}") from fault
    if not isinstance(found, kind):
        raise Refused("interchange.unfit", f"it is a {type(found).__name__}, and not a {kind.__name__}")
    if found.name != point.name:
        raise Refused("interchange.unfit", f"its name is {found.name!r}; its entry point must have the same name")
    return found
