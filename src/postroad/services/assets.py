"""Assets checked when they are saved, so that a service never meets one that it cannot work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.configuration.document import Fault
from postroad.core.exchange.bound import Language
from postroad.core.model.asset import CONTENT_MOST, AssetDraft, AssetKind, Hosting
from postroad.core.routing.attribute_defaults import check_alone
from postroad.core.schemas.catalogue import Catalogue
from postroad.core.schemas.dtd_defaults import read_dtd
from postroad.errors import Refused
from postroad.ports import Validator
from postroad.services.engine import Engines
from postroad.services.filter_list import list_faults
from postroad.services.off_loop import in_thread, off_loop
from postroad.services.shared_map import map_faults
from postroad.services.table import table_faults

VALIDATING = (Hosting.VALIDATE, Hosting.EXCHANGE)


async def asset_faults(draft: AssetDraft, engines: Engines) -> list[Fault]:
    """Everything wrong with an asset's content, by its place in it; empty when it can be saved."""
    asset = draft.asset
    if len(asset.content.encode(errors="replace")) > CONTENT_MOST:
        return [Fault("", f"an asset has at most {CONTENT_MOST >> 20} MiB")]
    match asset.kind:
        case AssetKind.STYLESHEET:
            return await _refused_by(engines.transformer.check, asset.content)
        case AssetKind.TABLE:
            return await off_loop(len(asset.content), table_faults, asset.content)
        case AssetKind.LIST:
            return await in_thread(list_faults, asset.content, asset.service)  # it may have patterns
        case AssetKind.MAP:
            return await off_loop(len(asset.content), map_faults, asset.content)
        case AssetKind.QUERY:
            return await _refused_by(engines.judges[Language.QUERY].check, asset.content)
        case AssetKind.SCRIPT:
            return await _refused_by(engines.judges[Language.SCRIPT].check, asset.content)
        case AssetKind.SCHEMA if draft.hosted not in VALIDATING:
            return await off_loop(len(asset.content), _rule_schema_faults, check_alone, asset.content)
        case AssetKind.DTD if draft.hosted not in VALIDATING:
            return await off_loop(len(asset.content), _rule_schema_faults, read_dtd, asset.content)
        case AssetKind.SCHEMA | AssetKind.DTD | AssetKind.JSONSCHEMA:
            return await _catalogue_faults(draft, engines.validator)


async def _refused_by(check: Callable[[str], Awaitable[None]], content: str) -> list[Fault]:
    try:
        await check(content)
    except Refused as refusal:
        return [Fault("", refusal.detail)]
    return []


def _rule_schema_faults(check: Callable[[str], object], content: str) -> list[Fault]:
    """Of a schema or DTD that is only read for default attributes, and for that must stand alone."""
    try:
        check(content)
    except Refused as refusal:
        return [_fault(refusal)]
    return []


async def _catalogue_faults(draft: AssetDraft, validator: Validator) -> list[Fault]:
    """Of a schema that documents are validated by, and of those that refer to it."""
    name, kind = draft.asset.name, draft.asset.kind
    catalogue = Catalogue("This service", (*draft.beside, draft.asset))
    referrers = catalogue.referrers(kind, name) if draft.with_referrers else []
    for one in (name, *referrers):
        try:
            await validator.check(catalogue.named(one, kind))
        except Refused as refusal:
            fault = _fault(refusal)
            return [fault if one == name else Fault("", f"{one}, which refers to it, fails with it: {fault.detail}")]
    return []


def _fault(refusal: Refused) -> Fault:
    """With the place in the words, unless they name it already."""
    named = refusal.pointer and refusal.pointer not in refusal.detail
    return Fault("", f"{refusal.pointer}: {refusal.detail}" if named else refusal.detail)
