"""Validation: documents are checked against the service's own schemas, and what is not valid is stopped, or goes on marked.

Arguments: ``schema`` (its name; else the one that is for the document), ``document`` (the id of the one document that is meant;
else every XML and JSON document of the body that the service has schemas for), ``onInvalid`` (``reject`` or ``mark``). Kept rule:
a document that is meant and that no schema is for is not valid; otherwise a misspelt namespace would pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import msgspec

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Part, Property, PropertyType, Status
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.catalogue import Catalogue, catalogue_of, kinds_fit
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Refused
from postroad.ports import Validator
from postroad.services.arguments import Arguments
from postroad.services.documents import chosen
from postroad.services.off_loop import off_loop
from postroad.services.service import Returned, Tools

INVALID = "document.invalid"
ON_INVALID = ("reject", "mark")
VALID, CHECKED, FAULTS = "validation.valid", "validation.checked", "validation.faults"
FAULTS_CHARS = 4_000  # as much as a property can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A document, the schema by which it was judged, and what is wrong with it."""

    part: Part
    schema: str
    faults: tuple[DocumentFault, ...]

    def __str__(self) -> str:
        by = f" by {self.schema}" if self.schema else ""
        return f"document {self.part.id!r} is not valid{by}: {'; '.join(map(str, self.faults))}"


class ValidationService:
    async def work(self, message: Delivered, tools: Tools) -> Returned:
        arguments = Arguments(message.arguments)
        on_invalid = arguments.choice("onInvalid", ON_INVALID, "reject")
        judged = await _judged(message, arguments, tools)
        invalid = [one for one in judged if one.faults]
        if invalid and on_invalid == "reject":
            return Returned(status=Status(INVALID, "; ".join(map(str, invalid))))
        return Returned(
            parts=None if message.in_transit else (_report(judged),), properties=_properties(judged, invalid)
        )


class ToValidate(Protocol):
    """What it takes to judge by a service's own schemas; the tools of a running service have it."""

    @property
    def service(self) -> Service: ...

    @property
    def directory(self) -> Directory: ...

    @property
    def validator(self) -> Validator: ...


async def require_valid(part: Part, schema: str, tools: ToValidate) -> None:
    """Refused with ``document.invalid`` unless the document meets the service's schema of that name."""
    meant = catalogue_of(tools.directory, tools.service.gcid).named(schema)
    faults = await tools.validator.validate(meant, part.data)
    if faults:
        raise Refused(INVALID, str(Judged(part=part, schema=meant.name, faults=faults)))


async def _judged(message: Delivered, arguments: Arguments, tools: Tools) -> list[Judged]:
    catalogue = catalogue_of(tools.directory, tools.service.gcid)
    named = arguments.get("schema")
    schema = catalogue.named(named) if named else None

    def fits(part: Part) -> bool:
        return catalogue.concerns(part) if schema is None else kinds_fit(schema.kind, part)

    meant = chosen(message, arguments.get("document"), fits)
    return [await _judgement(part, schema, catalogue, tools) for part in meant]


async def _judgement(part: Part, schema: Schema | None, catalogue: Catalogue, tools: Tools) -> Judged:
    try:
        found = schema or await off_loop(len(part.data), catalogue.fitting, part)
    except Refused as refusal:
        if not refusal.code.startswith("wire."):
            raise
        return Judged(part=part, schema="", faults=(DocumentFault(text=refusal.detail),))
    if found is None:
        return Judged(part=part, schema="", faults=(DocumentFault(text=f"no schema of {catalogue.owner} is for it"),))
    faults = await tools.validator.validate(found, part.data)
    return Judged(part=part, schema=found.name, faults=faults)


def _properties(judged: list[Judged], invalid: list[Judged]) -> tuple[Property, ...]:
    """What others on the way may go by; nothing where nothing was checked."""
    if not judged:
        return ()
    properties = (
        Property(VALID, "false" if invalid else "true", PropertyType.BOOLEAN),
        Property(CHECKED, str(len(judged)), PropertyType.NUMBER),
    )
    told = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", "; ".join(map(str, invalid)))[:FAULTS_CHARS]
    return (*properties, Property(FAULTS, told)) if told else properties


def _report(judged: list[Judged]) -> Part:
    """The answer to whoever asked the service itself."""
    documents = [
        {
            "document": one.part.id,
            "schema": one.schema,
            "faults": [{"text": fault.text, "line": fault.line, "path": fault.path} for fault in one.faults],
        }
        for one in judged
    ]
    content = {"valid": not any(one.faults for one in judged), "documents": documents}
    return Part(id="report", content_type="application/json", data=msgspec.json.encode(content))
