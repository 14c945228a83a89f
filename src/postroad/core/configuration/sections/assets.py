"""Plans and exports the assets of a service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import ServiceEntry, pointer
from postroad.core.configuration.entries.assets import (
    PLURALS,
    AssetEntry,
    AssetSections,
    exported_asset,
    misplaced_reason,
)
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory


def asset_entries(wish: AssetSections) -> Iterator[tuple[AssetKind, str, AssetEntry]]:
    """Every asset that an entry names, with its kind and name."""
    for kind in AssetKind:
        for name, entry in (wish.assets(kind) or {}).items():
            yield kind, name, entry


def wanted_assets(service: Service, wish: ServiceEntry, here: str, planning: PlanningContext) -> list[WantedObject]:
    found = []
    for kind, name, entry in asset_entries(wish):
        place = here + pointer(PLURALS[kind], name)
        if entry.content is None:
            planning.fault(place, "read the file before sending the document, as `postroad apply` does")
            continue
        existing = planning.directory.asset(service.gcid, kind, name)
        known = existing.name if existing else name
        asset = Asset(service=service.gcid, kind=kind, name=known, content=entry.content, description=entry.description)
        if (why := misplaced_reason(kind, service)) and not (
            asset == existing and _is_service_unchanged(service, planning.directory)
        ):
            planning.fault(place, why)
        planning.faults += planning.asset_faults.get(place, ())
        found.append(WantedObject(place, asset, f"{service.address}: {kind.value} {known}"))
    return found


def _is_service_unchanged(service: Service, directory: Directory) -> bool:
    """True if the service's role is unchanged, so that its other assets are not the document's concern."""
    before = directory.services.get(service.gcid)
    return before is not None and before.hosted is service.hosted


def prunable_assets(service: Service, wish: AssetSections | None, directory: Directory) -> list[Asset]:
    """Return the assets that pruning may remove: those of the kinds the document lists."""
    assets = directory.assets_of(service.gcid)
    return [asset for asset in assets if wish is None or wish.assets(asset.kind) is not None]


def exported_assets(service: Service, directory: Directory) -> dict[str, Any]:
    exported: dict[str, Any] = {}
    for asset in directory.assets_of(service.gcid):
        exported.setdefault(PLURALS[asset.kind], {})[asset.name] = exported_asset(asset)
    return exported
