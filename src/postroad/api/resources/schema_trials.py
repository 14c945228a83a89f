"""Tries schemas, saved or not, on a document and reports its errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, model_validator

from postroad.api.resources.context import ApiContext
from postroad.core.configuration.entries.assets import Content
from postroad.core.configuration.shapes import Name, StrictShape, Word
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.message import Part
from postroad.core.schemas.catalogue import SchemaCatalogue
from postroad.core.schemas.schema import SCHEMA_KINDS
from postroad.errors import Refused
from postroad.flow.administration.assets import list_owned_assets, list_siblings
from postroad.flow.administration.base import permission_denied


class SchemaToTry(StrictShape):
    """A saved schema by service and name, or a text; a text with a service can refer to that service's schemas."""

    kind: Annotated[AssetKind, Field(description="schema, dtd or jsonschema")] = AssetKind.SCHEMA
    name: Name = "tried"
    service: Annotated[Word | None, Field(description="Service that owns the schemas, by GCID or address")] = None
    content: Annotated[Content | None, Field(description="Its text; default: the saved schema")] = None

    @model_validator(mode="after")
    def is_somewhere(self) -> Self:
        if self.kind not in SCHEMA_KINDS:
            raise ValueError("a schema's kind is schema, dtd or jsonschema")
        if self.content is None and self.service is None:
            raise ValueError("needs the schema's content, or the service that stores it")
        return self


async def schema_faults(api: ApiContext, caller: Caller, wish: SchemaToTry, parts: Iterable[Part]) -> list[str]:
    """Return the validation errors of the first document; empty if it is valid."""
    if not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer may test schemas")
    if api.validator is None:
        raise Refused("request.not-implemented", "This network does not support validation")
    document = next((part for part in parts if not part.attachment), None)
    if document is None:
        raise Refused("message.incomplete", "The message has no document to validate")
    schema = _catalogue(api, caller, wish).named(wish.name, wish.kind)
    return [str(fault) for fault in await api.validator.validate(schema, document.data)]


def _catalogue(api: ApiContext, caller: Caller, wish: SchemaToTry) -> SchemaCatalogue:
    saved = list_owned_assets(caller, api.network.directory, wish.service, wish.kind) if wish.service else []
    if wish.content is not None:
        tried = Asset(service="", kind=wish.kind, name=wish.name, content=wish.content)
        saved = [*list_siblings(tried, saved), tried]
    return SchemaCatalogue(wish.service or "This schema", saved)
