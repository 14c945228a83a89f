"""What a document wants of a service's assets, and the assets as an export writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroad.core.configuration.assets import (
    PLURALS,
    AssetEntry,
    AssetSections,
    exported_asset,
    misplaced,
)
from postroad.core.configuration.document import ServiceEntry, pointer
from postroad.core.configuration.planning import Planning, Wanted
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory


def asset_entries(wish: AssetSections) -> Iterator[tuple[AssetKind, str, AssetEntry]]:
    """Every asset that an entry names, with its kind and name."""
    for kind in AssetKind:
        for name, entry in (wish.assets(kind) or {}).items():
            yield kind, name, entry


def wanted_assets(service: Service, wish: ServiceEntry, here: str, planning: Planning) -> list[Wanted]:
    found = []
    for kind, name, entry in asset_entries(wish):
        place = here + pointer(PLURALS[kind], name)
        if entry.content is None:
            planning.fault(place, "read the file before sending the document; `postroad apply` does")
            continue
        existing = planning.directory.asset(service.gcid, kind, name)
        known = existing.name if existing else name
        asset = Asset(service=service.gcid, kind=kind, name=known, content=entry.content, description=entry.description)
        if (why := misplaced(kind, service)) and not (
            asset == existing and _does_the_same(service, planning.directory)
        ):
            planning.fault(place, why)
        planning.faults += planning.asset_faults.get(place, ())
        found.append(Wanted(place, asset, f"{service.address}: {kind.value} {known}"))
    return found


def _does_the_same(service: Service, directory: Directory) -> bool:
    """Whether the service does what it did before; then what it has besides is no doing of the document."""
    before = directory.services.get(service.gcid)
    return before is not None and before.hosted is service.hosted


def prunable_assets(service: Service, wish: AssetSections | None, directory: Directory) -> list[Asset]:
    """Those of the kinds that the document speaks of; all, where it does not want the service itself."""
    assets = directory.assets_of(service.gcid)
    return [asset for asset in assets if wish is None or wish.assets(asset.kind) is not None]


def exported_assets(service: Service, directory: Directory) -> dict[str, Any]:
    exported: dict[str, Any] = {}
    for asset in directory.assets_of(service.gcid):
        exported.setdefault(PLURALS[asset.kind], {})[asset.name] = exported_asset(asset)
    return exported
