"""Assets checked when they are saved, so that a service never meets one that it cannot work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.configuration.document import Fault
from postroad.core.exchange.bound import Language
from postroad.core.model.asset import CONTENT_MOST, Asset, AssetKind
from postroad.core.routing.attribute_defaults import read_schema
from postroad.errors import Refused
from postroad.services.engine import Engines
from postroad.services.filter_list import list_faults
from postroad.services.off_loop import off_loop
from postroad.services.shared_map import map_faults
from postroad.services.table import table_faults


async def asset_faults(asset: Asset, engines: Engines) -> list[Fault]:
    """Everything wrong with an asset's content, by its place in it; empty when it can be saved."""
    if len(asset.content.encode(errors="replace")) > CONTENT_MOST:
        return [Fault("", f"an asset has at most {CONTENT_MOST >> 20} MiB")]
    match asset.kind:
        case AssetKind.STYLESHEET:
            return await _refused_by(engines.transformer.check, asset.content)
        case AssetKind.TABLE:
            return await off_loop(len(asset.content), table_faults, asset.content)
        case AssetKind.LIST:
            return await off_loop(len(asset.content), list_faults, asset.content, asset.service)
        case AssetKind.MAP:
            return map_faults(asset.content)
        case AssetKind.QUERY:
            return await _refused_by(engines.judges[Language.QUERY].check, asset.content)
        case AssetKind.SCRIPT:
            return await _refused_by(engines.judges[Language.SCRIPT].check, asset.content)
        case AssetKind.SCHEMA:
            return await off_loop(len(asset.content), _schema_faults, asset.content)


async def _refused_by(check: Callable[[str], Awaitable[None]], content: str) -> list[Fault]:
    try:
        await check(content)
    except Refused as refusal:
        return [Fault("", refusal.detail)]
    return []


def _schema_faults(content: str) -> list[Fault]:
    try:
        read_schema(content)
    except Refused as refusal:
        return [Fault("", refusal.detail)]
    return []
