"""Assets in a configuration document that must be checked, each with its siblings.

A saved asset whose content is unchanged is not checked again. Schemas are the exception: if one schema of a service
has changed, all of its schemas in the document are checked, since they may refer to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.configuration.document import NetworkDocument, ServiceEntry, pointer
from postroad.core.configuration.entries.assets import PLURALS, AssetEntry
from postroad.core.model.asset import Asset, AssetDraft, AssetKind
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.schema import SCHEMA_KINDS
from postroad.flow.administration.assets import list_siblings


def list_asset_drafts(document: NetworkDocument, directory: Directory) -> Iterator[tuple[str, AssetDraft]]:
    """Yield the drafts by their pointers in the document."""
    for organization_name, organization in document.organizations.items():
        for name, wish in organization.services.items():
            here = pointer("organizations", organization_name, "services", name)
            service = directory.service(f"{organization_name}/{name}")
            gcid = service.gcid if service else ""
            for kind in AssetKind:
                yield from _of_kind(wish, kind, gcid, here + pointer(PLURALS[kind]), directory)


def _of_kind(
    wish: ServiceEntry, kind: AssetKind, gcid: str, here: str, directory: Directory
) -> Iterator[tuple[str, AssetDraft]]:
    entries = wish.assets(kind) or {}
    wanted = {name: asset for name, entry in entries.items() if (asset := _asset(entry, kind, name, gcid)) is not None}
    changed = {name for name, asset in wanted.items() if _is_new(asset, directory)}
    if changed and kind in SCHEMA_KINDS:
        changed = set(wanted)
    saved = {one.name.casefold(): one for one in directory.assets_of(gcid)} if changed else {}
    all_of_them = (saved | {name.casefold(): asset for name, asset in wanted.items()}).values()
    for name in entries:
        if name in changed:
            others = list_siblings(wanted[name], all_of_them)
            draft = AssetDraft(asset=wanted[name], hosted=wish.hosted, beside=others, with_referrers=False)
            yield here + pointer(name), draft


def _asset(entry: AssetEntry, kind: AssetKind, name: str, gcid: str) -> Asset | None:
    """Return the asset; None if its content is a file reference, which planning reports."""
    return None if entry.content is None else Asset(service=gcid, kind=kind, name=name, content=entry.content)


def _is_new(asset: Asset, directory: Directory) -> bool:
    saved = directory.asset(asset.service, asset.kind, asset.name) if asset.service else None
    return saved is None or saved.content != asset.content
