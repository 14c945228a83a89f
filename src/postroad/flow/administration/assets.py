"""Assets of services: saved after a check, and removed.

Rule: an asset is compiled before it is saved, so that a message never meets one that cannot work.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.assets import misplaced_reason
from postroad.core.model.asset import MAX_CONTENT_CHARS, Asset, AssetDraft, AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.schema import SCHEMA_KINDS
from postroad.errors import Refused
from postroad.flow.administration.base import Administration, InvalidChange, build_removal, not_found, require_service
from postroad.flow.registries.configuration import DirectoryChange, build_save


def list_owned_assets(caller: Caller, directory: Directory, service: str, kind: AssetKind | None = None) -> list[Asset]:
    """Return the assets of a service to callers that may see them."""
    found = directory.assets_of(require_service(caller, directory, service, Role.VIEWER).gcid)
    return [asset for asset in found if kind is None or asset.kind is kind]


def find_asset(
    caller: Caller, directory: Directory, service: str, kind: AssetKind, name: str, least: Role = Role.VIEWER
) -> Asset:
    asset = directory.asset(require_service(caller, directory, service, least).gcid, kind, name)
    if asset is None:
        raise not_found()
    return asset


async def save(administration: Administration, caller: Caller, asset: Asset, seen_version: int | None) -> Asset:
    """Create an asset or replace its content; ``asset.service`` is a GCID that the caller may change."""
    check_name(asset.name, "The asset's")
    if len(asset.content) > MAX_CONTENT_CHARS:
        raise Refused(
            "wire.too-large", f"An asset has at most {MAX_CONTENT_CHARS} characters; split it, or make it smaller"
        )
    _check_place(caller, administration.directory, asset)
    faults = await administration.asset_faults(_draft(caller, administration.directory, asset))
    if faults:
        found = [DocumentError("", describe_fault(fault)) for fault in faults]
        code = "schema.invalid" if asset.kind in SCHEMA_KINDS else "value.invalid"
        raise InvalidChange(code, f"The {asset.kind.value} cannot be used: {found[0].detail}", found)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_place(caller, directory, asset)
        return [build_save(asset, seen_version)]

    await administration.carry_out(caller.name, decide, f"{asset.kind.value} saved")
    return asset


async def remove(administration: Administration, caller: Caller, asset: Asset, seen_version: int | None) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        current = find_asset(caller, directory, asset.service, asset.kind, asset.name, Role.DEVELOPER)
        _check_unused(current, directory)
        return [build_removal(current, seen_version)]

    await administration.carry_out(caller.name, decide, f"{asset.kind.value} removed")


def _draft(caller: Caller, directory: Directory, asset: Asset) -> AssetDraft:
    service = require_service(caller, directory, asset.service, Role.DEVELOPER)
    return AssetDraft(
        asset=asset, hosted=service.hosted, beside=list_siblings(asset, directory.assets_of(service.gcid))
    )


def list_siblings(asset: Asset, others: Iterable[Asset]) -> tuple[Asset, ...]:
    """Return the other assets of the same kind."""
    name = asset.name.casefold()
    return tuple(one for one in others if one.kind is asset.kind and one.name.casefold() != name)


def _check_unused(asset: Asset, directory: Directory) -> None:
    service = directory.services[asset.service]
    if asset.kind in SCHEMA_KINDS and service.validates.casefold() == asset.name.casefold():
        detail = f"{service.address} uses this for validation; change `validates` in its profile first"
        raise Refused("configuration.conflict", detail)


def _check_place(caller: Caller, directory: Directory, asset: Asset) -> None:
    service = require_service(caller, directory, asset.service, Role.DEVELOPER)
    if why := misplaced_reason(asset.kind, service):
        raise Refused("configuration.conflict", f"{service.address} cannot have this: {why}")


def describe_fault(fault: DocumentError) -> str:
    """Describe an error inside an asset's text, with its location in words instead of a JSON pointer."""
    return f"{fault.pointer}: {fault.detail}" if fault.pointer else fault.detail
