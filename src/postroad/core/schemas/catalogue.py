"""All schemas of a service, and which of them applies to a document.

Without an explicit name, the schema of an XML document is the DTD in its DOCTYPE, else the schema that declares its root
element, else the schema of its namespace. For JSON it is the ``$schema``. If a service has only one schema, it applies.
Rule: a schema is never guessed; if two could apply, none does.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from postroad.core.codecs.parts import looks_like_json, looks_like_xml
from postroad.core.codecs.xml import first_elements, to_utf8
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.message import Part
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.doctype import without_doctype
from postroad.core.schemas.schema import SCHEMA_KINDS, Schema
from postroad.core.schemas.schema_reader import SchemaReference
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused

HEAD_BYTES = 65_536  # the root element must start within this number of bytes


class _Said(msgspec.Struct):
    """The ``$schema`` of a JSON document."""

    schema: str = msgspec.field(default="", name="$schema")


class SchemaCatalogue:
    """The schemas of one service; ``owner`` is its address, used in refusals."""

    def __init__(self, owner: str, assets: Iterable[Asset]) -> None:
        texts: dict[AssetKind, dict[str, str]] = {kind: {} for kind in SCHEMA_KINDS}
        for asset in assets:
            if asset.kind in texts:
                texts[asset.kind][asset.name] = asset.content
        self.owner = owner
        self._shelves = {kind: SchemaTexts(kind, texts[kind]) for kind in SCHEMA_KINDS}
        self._found: dict[tuple[AssetKind, str], Schema] = {}

    def find(self, name: str, kind: AssetKind | None = None) -> Schema:
        """Return the schema of that name; without a kind, all kinds are searched."""
        found = [one for one in SCHEMA_KINDS if kind in (None, one) and self._shelves[one].name_of(name)]
        if not found:
            raise Refused("not-found", f"{self.owner} has no schema {name[:80]!r}", pointer="/arguments/schema")
        if len(found) > 1:
            kinds = " and a ".join(one.value for one in found)
            detail = f"{self.owner} has a {kinds} of the name {name!r}; give them different names"
            raise Refused("value.invalid", detail, pointer="/arguments/schema")
        return self._schema(found[0], self._shelves[found[0]].name_of(name))

    def referrers(self, kind: AssetKind, name: str) -> list[str]:
        """Return the names of the schemas that depend on the one of that name."""
        shelf = self._shelves[kind]
        return [one for one in shelf.texts if one != name and name in shelf.list_needed(one)]

    def concerns(self, part: Part) -> bool:
        """Return True if the service has schemas for documents of this type."""
        return bool(self._counted(*_kinds_for(part)))

    def fitting(self, part: Part) -> Schema | None:
        """Return the schema for this document; None if there is none, or if several could apply.

        Refused with a code of ``wire.`` where its head cannot be read.
        """
        kinds = _kinds_for(part)
        meant = self._for_json(part.data) if AssetKind.JSONSCHEMA in kinds else self._for_xml(part.data)
        meant = meant or self._the_only_one(kinds)
        return self._schema(*meant) if meant else None

    def _schema(self, kind: AssetKind, name: str) -> Schema:
        found = self._found.get((kind, name))
        if found is None:
            found = self._found[kind, name] = self._shelves[kind].schema(name)
        return found

    def _for_json(self, data: bytes) -> tuple[AssetKind, str] | None:
        try:
            said = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=_Said)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        name = self._shelves[AssetKind.JSONSCHEMA].target(SchemaReference(location=said.schema)) if said.schema else ""
        return (AssetKind.JSONSCHEMA, name) if name else None

    def _for_xml(self, data: bytes) -> tuple[AssetKind, str] | None:
        doctype = without_doctype(to_utf8(data))
        name = (
            self._shelves[AssetKind.DTD].target(SchemaReference(location=doctype.system_id))
            if doctype.system_id
            else ""
        )
        if name:
            return AssetKind.DTD, name
        root = next(iter(first_elements(doctype.document[:HEAD_BYTES], 1)), "")
        name = self._by_root(root)
        return (AssetKind.SCHEMA, name) if name else None

    def _by_root(self, root: str) -> str:
        """Return the schema that declares the root element; ``root`` is as the parser reports it: namespace}name."""
        namespace = root.rpartition("}")[0]
        shelf = self._shelves[AssetKind.SCHEMA]
        read = [(name, shelf.read(name)) for name in shelf.texts]
        declaring = [name for name, one in read if ("{" if namespace else "") + root in one.roots]
        alike = [name for name, one in read if namespace and one.identity == namespace]
        return next((found[0] for found in (declaring, alike) if len(found) == 1), "")

    def _the_only_one(self, kinds: tuple[AssetKind, ...]) -> tuple[AssetKind, str] | None:
        found = self._counted(*kinds)
        return found[0] if len(found) == 1 else None

    def _counted(self, *kinds: AssetKind) -> list[tuple[AssetKind, str]]:
        return [(kind, name) for kind in kinds for name in self._shelves[kind].texts]


def is_applicable(kind: AssetKind, part: Part) -> bool:
    """Return True if a schema of this kind can validate the part."""
    return kind in _kinds_for(part)


def _kinds_for(part: Part) -> tuple[AssetKind, ...]:
    if looks_like_xml(part):
        return (AssetKind.SCHEMA, AssetKind.DTD)
    return (AssetKind.JSONSCHEMA,) if looks_like_json(part) else ()


def catalogue_of(directory: Directory, gcid: str) -> SchemaCatalogue:
    """Return the schemas of a service, cached in the snapshot."""
    key = ("schemas", gcid)
    known: SchemaCatalogue | None = directory.cache.get(key)
    if known is None:
        service = directory.services.get(gcid)
        owner = service.address if service else "This service"
        known = directory.cache[key] = SchemaCatalogue(owner, directory.assets_of(gcid))
    return known
