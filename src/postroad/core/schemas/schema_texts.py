"""The texts of a service's schemas of one kind, and how references between them are resolved.

A reference is resolved by the name under which a schema was saved: the complete reference, or the last segment of a path
or address, with or without the file extension. A JSON Schema is also found by its ``$id``, and an import by its
namespace. Rule: an ambiguous reference is not resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from urllib.parse import unquote

from postroad.core.model.asset import AssetKind
from postroad.core.schemas.schema import Schema, digest_of_texts
from postroad.core.schemas.schema_reader import SchemaDescription, SchemaReference, read_text
from postroad.errors import Refused

TEXTS_BYTES = 16 << 20  # of a schema with all texts to which it refers
_ENDINGS = (".xsd", ".dtd", ".mod", ".ent", ".json", ".xml")


class SchemaTexts:
    def __init__(self, kind: AssetKind, texts: Mapping[str, str]) -> None:
        self.kind = kind
        self.texts = texts
        self._names = {name.casefold(): name for name in texts}

    def name_of(self, name: str) -> str:
        """Return the name as it is stored; empty if there is no such text. Letter case is ignored."""
        return self._names.get(name.casefold(), "")

    def target(self, reference: SchemaReference) -> str:
        """Return the name of the text to which a reference resolves; empty if it does not resolve."""
        location = reference.location.partition("#")[0]
        file = unquote(location).replace("\\", "/").rpartition("/")[2].casefold()
        found = self.name_of(location) or self._by_identity.get(location, "") if location else ""
        found = found or self.name_of(file) or self._by_stem.get(_stem(file), "")
        return found or (self._by_identity.get(reference.namespace, "") if reference.namespace else "")

    def schema(self, name: str) -> Schema:
        """Return the schema with all texts to which it refers; refused with ``schema.invalid`` if one is missing."""
        texts = {one: self.texts[one] for one in self.list_needed(name, complain=True)}
        if sum(map(len, texts.values())) > TEXTS_BYTES:
            detail = f"the schema and its references are larger than {TEXTS_BYTES >> 20} MiB; remove unused schemas"
            raise Refused("schema.invalid", detail)
        return Schema(kind=self.kind, name=name, texts=texts, digest=digest_of_texts(self.kind, name, texts))

    def read(self, name: str) -> SchemaDescription:
        return read_text(self.kind, self.texts[name])

    def list_needed(self, name: str, *, complain: bool = False) -> list[str]:
        """Return the names of all texts that a schema needs, its own first; with ``complain``, refuses if one is missing."""
        reached = [name]
        for one in reached:
            for reference in self._references(one, name, complain):
                target = self.target(reference)
                if not target and complain:
                    self._check_missing(reference, one, name)
                elif target and target not in reached:
                    reached.append(target)
        return reached

    def _references(self, name: str, first: str, complain: bool) -> tuple[SchemaReference, ...]:
        try:
            return self._read_of(name, first).references
        except Refused:
            if complain:
                raise
            return ()

    def _read_of(self, name: str, first: str) -> SchemaDescription:
        try:
            return self.read(name)
        except Refused as refusal:
            if name == first:
                raise
            place = f" {refusal.pointer}:" if refusal.pointer else ""
            raise Refused("schema.invalid", f"it refers to {name}, which is invalid:{place} {refusal.detail}") from None

    def _check_missing(self, reference: SchemaReference, name: str, first: str) -> None:
        """Refuse an unresolved reference, except imports by namespace only, and lookalikes in JSON."""
        if self.kind is AssetKind.JSONSCHEMA or not reference.location:
            return
        what = f"{reference.by} of {reference.location[:100]!r}" + (f" in {name}" if name != first else "")
        detail = (
            f"{what} does not match any schema in the catalogue; save it under that name first, or in the same document"
        )
        raise Refused("schema.invalid", detail, pointer=f"line {reference.line}" if reference.line else "")

    @cached_property
    def _by_identity(self) -> dict[str, str]:
        return _unambiguous((identity, name) for name, identity in self._identities() if identity)

    def _identities(self) -> Iterator[tuple[str, str]]:
        for name in self.texts:
            try:
                yield name, self.read(name).identity
            except Refused:  # reported when a schema refers to it by name
                continue

    @cached_property
    def _by_stem(self) -> dict[str, str]:
        return _unambiguous((_stem(name.casefold()), name) for name in self.texts)


def _stem(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    several: set[str] = set()
    for key, name in pairs:
        if found.setdefault(key, name) != name:
            several.add(key)
    return {key: name for key, name in found.items() if key not in several}
