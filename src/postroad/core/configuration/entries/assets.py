"""Assets in a configuration document: stylesheets, tables, lists, maps, schemas and so on.

Rules: a document contains the content itself; ``file:`` is resolved by the command line, where the file is. A plan
shows an asset's digest and size instead of its content.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import Field, StrictStr, StringConstraints, model_validator

from postroad.core.configuration.shapes import LINE, Name, Prose, StrictShape
from postroad.core.model.asset import MAX_CONTENT_CHARS, NEEDS, Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.schemas.schema import SCHEMA_KINDS

# How each kind is called where there are several of it, in documents and in addresses.
PLURALS: dict[AssetKind, str] = {
    AssetKind.STYLESHEET: "stylesheets",
    AssetKind.TABLE: "tables",
    AssetKind.LIST: "lists",
    AssetKind.MAP: "maps",
    AssetKind.QUERY: "queries",
    AssetKind.SCRIPT: "scripts",
    AssetKind.SCHEMA: "schemas",
    AssetKind.DTD: "dtds",
    AssetKind.JSONSCHEMA: "jsonschemas",
}
DIGEST_CHARS = 16

Content = Annotated[StrictStr, Field(max_length=MAX_CONTENT_CHARS)]
FileName = Annotated[StrictStr, StringConstraints(min_length=1, max_length=500, pattern=LINE)]


class AssetEntry(StrictShape):
    """One asset; its name is the key under which it stands."""

    content: Content | None = None
    file: Annotated[FileName | None, Field(description="Where the command line reads the content")] = None
    description: Prose = ""

    @model_validator(mode="after")
    def check_single_content(self) -> Self:
        if (self.content is None) == (self.file is None):
            raise ValueError("needs exactly one of content and file")
        return self


AssetEntries = Annotated[dict[Name, AssetEntry], Field(max_length=1_000)]


class AssetSections(StrictShape):
    """The assets of a service, by kind; a kind that is left out stays as it is, even when pruning."""

    stylesheets: AssetEntries | None = None
    tables: AssetEntries | None = None
    lists: AssetEntries | None = None
    maps: AssetEntries | None = None
    queries: AssetEntries | None = None
    scripts: AssetEntries | None = None
    schemas: AssetEntries | None = None
    dtds: AssetEntries | None = None
    jsonschemas: AssetEntries | None = None

    def assets(self, kind: AssetKind) -> dict[str, AssetEntry] | None:
        found: dict[str, AssetEntry] | None = getattr(self, PLURALS[kind])
        return found


def digest_of(content: str) -> str:
    """Enough of a digest to see whether two contents are the same."""
    return sha256(content.encode()).hexdigest()[:DIGEST_CHARS]


def asset_summary(asset: Asset) -> dict[str, Any]:
    """An asset without its content."""
    return {
        "kind": asset.kind.value,
        "name": asset.name,
        "description": asset.description,
        "digest": digest_of(asset.content),
        "bytes": len(asset.content.encode()),
    }


def exported_asset(asset: Asset) -> dict[str, str]:
    return {"content": asset.content} | ({"description": asset.description} if asset.description else {})


def missing_schema_reason(service: Service, assets: Iterable[Asset]) -> str:
    """Return why a service cannot validate by the schema its profile names; empty if it can."""
    wanted = service.validates.casefold()
    found = [asset.kind.value for asset in assets if asset.kind in SCHEMA_KINDS and asset.name.casefold() == wanted]
    if not wanted or len(found) == 1:
        return ""
    if found:
        return f"it already has a {' and a '.join(found)} named {service.validates!r}; use different names"
    return f"it has no schema {service.validates!r}; save that schema first, or both in one document"


def misplaced_reason(kind: AssetKind, service: Service) -> str:
    """Return why a service cannot have an asset of this kind; empty if it can."""
    needed = NEEDS.get(kind)
    if needed is None or service.hosted in needed:
        return ""
    wanted = " or ".join(f"`hosted: {hosting.value}`" for hosting in needed)
    return f"a {kind.value} needs a hosted service; set {wanted} of the service first"
