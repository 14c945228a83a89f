"""The assets of services: saved whole once they are known to be right, and removed.

Kept rule: an asset is compiled before it is saved, so that a message never meets one that cannot work.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.configuration.assets import misplaced
from postroad.core.configuration.document import Fault
from postroad.core.model.asset import CONTENT_MOST, Asset, AssetDraft, AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.schema import SCHEMA_KINDS
from postroad.errors import Refused
from postroad.flow.administration import Administration, Contradictory, not_found, removing, service_for
from postroad.flow.configure import Change, saving


def owned_assets(caller: Caller, directory: Directory, service: str, kind: AssetKind | None = None) -> list[Asset]:
    """The assets of a service, for those who may look at what belongs to it."""
    found = directory.assets_of(service_for(caller, directory, service, Role.VIEWER).gcid)
    return [asset for asset in found if kind is None or asset.kind is kind]


def asset_named(
    caller: Caller, directory: Directory, service: str, kind: AssetKind, name: str, least: Role = Role.VIEWER
) -> Asset:
    asset = directory.asset(service_for(caller, directory, service, least).gcid, kind, name)
    if asset is None:
        raise not_found()
    return asset


async def save(administration: Administration, caller: Caller, asset: Asset, seen_version: int | None) -> Asset:
    """A new asset, or another content for one; ``asset.service`` is the GCID of a service that the caller may change."""
    check_name(asset.name, "The asset's")
    if len(asset.content) > CONTENT_MOST:
        raise Refused("wire.too-large", f"An asset has at most {CONTENT_MOST} characters; split it, or make it smaller")
    _check_place(caller, administration.directory, asset)
    faults = await administration.asset_faults(_draft(caller, administration.directory, asset))
    if faults:
        found = [Fault("", located(fault)) for fault in faults]
        code = "schema.invalid" if asset.kind in SCHEMA_KINDS else "value.invalid"
        raise Contradictory(code, f"The {asset.kind.value} cannot be used: {found[0].detail}", found)

    def decide(directory: Directory) -> list[Change]:
        _check_place(caller, directory, asset)
        return [saving(asset, seen_version)]

    await administration.carry_out(caller.name, decide, f"{asset.kind.value} saved")
    return asset


async def remove(administration: Administration, caller: Caller, asset: Asset, seen_version: int | None) -> None:
    def decide(directory: Directory) -> list[Change]:
        current = asset_named(caller, directory, asset.service, asset.kind, asset.name, Role.DEVELOPER)
        _check_unused(current, directory)
        return [removing(current, seen_version)]

    await administration.carry_out(caller.name, decide, f"{asset.kind.value} removed")


def _draft(caller: Caller, directory: Directory, asset: Asset) -> AssetDraft:
    service = service_for(caller, directory, asset.service, Role.DEVELOPER)
    return AssetDraft(asset=asset, hosted=service.hosted, beside=beside(asset, directory.assets_of(service.gcid)))


def beside(asset: Asset, others: Iterable[Asset]) -> tuple[Asset, ...]:
    """Those of its kind and of other names."""
    name = asset.name.casefold()
    return tuple(one for one in others if one.kind is asset.kind and one.name.casefold() != name)


def _check_unused(asset: Asset, directory: Directory) -> None:
    service = directory.services[asset.service]
    if asset.kind in SCHEMA_KINDS and service.validates.casefold() == asset.name.casefold():
        detail = f"{service.address} validates by this; change `validates` in its profile first"
        raise Refused("configuration.conflict", detail)


def _check_place(caller: Caller, directory: Directory, asset: Asset) -> None:
    service = service_for(caller, directory, asset.service, Role.DEVELOPER)
    if why := misplaced(asset.kind, service):
        raise Refused("configuration.conflict", f"{service.address} cannot have this: {why}")


def located(fault: Fault) -> str:
    """A fault inside an asset's own text, where a pointer into JSON means nothing: its place stands in the words."""
    return f"{fault.pointer}: {fault.detail}" if fault.pointer else fault.detail
