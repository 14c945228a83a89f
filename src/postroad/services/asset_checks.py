"""Checks of assets before they are saved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.configuration.document import DocumentError
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.model.asset import MAX_CONTENT_CHARS, AssetDraft, AssetKind, Hosting
from postroad.core.routing.paths.schema_defaults import check_alone
from postroad.core.schemas.catalogue import SchemaCatalogue
from postroad.core.schemas.dtd_defaults import read_dtd
from postroad.errors import Refused
from postroad.ports import Validator
from postroad.services.crossreference.shared_map import find_map_errors
from postroad.services.engines import Engines
from postroad.services.filter_list import find_list_errors
from postroad.services.hosting.off_loop import run_in_thread, run_off_loop
from postroad.services.lookup_table import find_table_errors

VALIDATING = (Hosting.VALIDATE, Hosting.EXCHANGE)


async def find_asset_errors(draft: AssetDraft, engines: Engines) -> list[DocumentError]:
    """Return all errors in an asset's content, with their locations; empty if it can be saved."""
    asset = draft.asset
    if len(asset.content.encode(errors="replace")) > MAX_CONTENT_CHARS:
        return [DocumentError("", f"an asset has at most {MAX_CONTENT_CHARS >> 20} MiB")]
    match asset.kind:
        case AssetKind.STYLESHEET:
            return await _refused_by(engines.transformer.check, asset.content)
        case AssetKind.TABLE:
            return await run_off_loop(len(asset.content), find_table_errors, asset.content)
        case AssetKind.LIST:
            return await run_in_thread(find_list_errors, asset.content, asset.service)  # patterns are expensive
        case AssetKind.MAP:
            return await run_off_loop(len(asset.content), find_map_errors, asset.content)
        case AssetKind.QUERY:
            return await _refused_by(engines.judges[DeciderLanguage.QUERY].check, asset.content)
        case AssetKind.SCRIPT:
            return await _refused_by(engines.judges[DeciderLanguage.SCRIPT].check, asset.content)
        case AssetKind.SCHEMA if draft.hosted not in VALIDATING:
            return await run_off_loop(len(asset.content), _rule_schema_faults, check_alone, asset.content)
        case AssetKind.DTD if draft.hosted not in VALIDATING:
            return await run_off_loop(len(asset.content), _rule_schema_faults, read_dtd, asset.content)
        case AssetKind.SCHEMA | AssetKind.DTD | AssetKind.JSONSCHEMA:
            return await _catalogue_faults(draft, engines.validator)


async def _refused_by(check: Callable[[str], Awaitable[None]], content: str) -> list[DocumentError]:
    try:
        await check(content)
    except Refused as refusal:
        return [DocumentError("", refusal.detail)]
    return []


def _rule_schema_faults(check: Callable[[str], object], content: str) -> list[DocumentError]:
    """Return errors of a schema or DTD that is used only for default attributes and must be self-contained."""
    try:
        check(content)
    except Refused as refusal:
        return [_fault(refusal)]
    return []


async def _catalogue_faults(draft: AssetDraft, validator: Validator) -> list[DocumentError]:
    """Return errors of a schema used for validation, and of the schemas that refer to it."""
    name, kind = draft.asset.name, draft.asset.kind
    catalogue = SchemaCatalogue("This service", (*draft.beside, draft.asset))
    referrers = catalogue.referrers(kind, name) if draft.with_referrers else []
    for one in (name, *referrers):
        try:
            await validator.check(catalogue.find(one, kind))
        except Refused as refusal:
            fault = _fault(refusal)
            return [
                fault if one == name else DocumentError("", f"{one}, which refers to it, fails with it: {fault.detail}")
            ]
    return []


def _fault(refusal: Refused) -> DocumentError:
    """Return the refusal as an error, with the location in the text unless the text already contains it."""
    named = refusal.pointer and refusal.pointer not in refusal.detail
    return DocumentError("", f"{refusal.pointer}: {refusal.detail}" if named else refusal.detail)
