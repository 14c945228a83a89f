"""Validation service: checks documents by the service's schemas; rejects or marks invalid ones.

Arguments: ``schema`` (its name; default: the schema for the document), ``document`` (the id of the one document to
check; default: every XML and JSON document of the body that the service has schemas for), ``onInvalid`` (``reject``
or ``mark``). Rule: a selected document without a matching schema is invalid; otherwise a misspelt namespace would
pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import msgspec

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Part, Property, PropertyType, Status
from postroad.core.model.snapshot import Directory
from postroad.core.schemas.catalogue import SchemaCatalogue, catalogue_of, is_applicable
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Refused
from postroad.ports import Validator
from postroad.services.arguments import Arguments
from postroad.services.document_values import choose_parts
from postroad.services.hosting.off_loop import run_off_loop
from postroad.services.service import ServiceResult, Tools

INVALID = "document.invalid"
ON_INVALID = ("reject", "mark")
VALID, CHECKED, FAULTS = "validation.valid", "validation.checked", "validation.faults"
FAULTS_CHARS = 4_000  # maximum of a property


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDocument:
    """A validated document, its schema and its errors."""

    part: Part
    schema: str
    faults: tuple[DocumentFault, ...]

    def __str__(self) -> str:
        by = f" by {self.schema}" if self.schema else ""
        return f"document {self.part.id!r} is not valid{by}: {'; '.join(map(str, self.faults))}"


class ValidationService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        arguments = Arguments(message.arguments)
        on_invalid = arguments.choice("onInvalid", ON_INVALID, "reject")
        judged = await _judged(message, arguments, tools)
        invalid = [one for one in judged if one.faults]
        if invalid and on_invalid == "reject":
            return ServiceResult(status=Status(INVALID, "; ".join(map(str, invalid))))
        return ServiceResult(
            parts=None if message.in_transit else (_report(judged),), properties=_properties(judged, invalid)
        )


class ValidationTools(Protocol):
    """The tools that validation needs; ``Tools`` of a running service has them."""

    @property
    def service(self) -> Service: ...

    @property
    def directory(self) -> Directory: ...

    @property
    def validator(self) -> Validator: ...


async def require_valid(part: Part, schema: str, tools: ValidationTools) -> None:
    """Raise Refused with ``document.invalid`` unless the document is valid by the schema of that name."""
    meant = catalogue_of(tools.directory, tools.service.gcid).find(schema)
    faults = await tools.validator.validate(meant, part.data)
    if faults:
        raise Refused(INVALID, str(JudgedDocument(part=part, schema=meant.name, faults=faults)))


async def _judged(message: Delivered, arguments: Arguments, tools: Tools) -> list[JudgedDocument]:
    catalogue = catalogue_of(tools.directory, tools.service.gcid)
    named = arguments.get("schema")
    schema = catalogue.find(named) if named else None

    def fits(part: Part) -> bool:
        return catalogue.concerns(part) if schema is None else is_applicable(schema.kind, part)

    meant = choose_parts(message, arguments.get("document"), fits)
    return [await _judgement(part, schema, catalogue, tools) for part in meant]


async def _judgement(part: Part, schema: Schema | None, catalogue: SchemaCatalogue, tools: Tools) -> JudgedDocument:
    try:
        found = schema or await run_off_loop(len(part.data), catalogue.fitting, part)
    except Refused as refusal:
        if not refusal.code.startswith("wire."):
            raise
        return JudgedDocument(part=part, schema="", faults=(DocumentFault(text=refusal.detail),))
    if found is None:
        return JudgedDocument(
            part=part, schema="", faults=(DocumentFault(text=f"{catalogue.owner} has no schema for it"),)
        )
    faults = await tools.validator.validate(found, part.data)
    return JudgedDocument(part=part, schema=found.name, faults=faults)


def _properties(judged: list[JudgedDocument], invalid: list[JudgedDocument]) -> tuple[Property, ...]:
    """Return the validation result as properties; empty if nothing was checked."""
    if not judged:
        return ()
    properties = (
        Property(VALID, "false" if invalid else "true", PropertyType.BOOLEAN),
        Property(CHECKED, str(len(judged)), PropertyType.NUMBER),
    )
    told = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", "; ".join(map(str, invalid)))[:FAULTS_CHARS]
    return (*properties, Property(FAULTS, told)) if told else properties


def _report(judged: list[JudgedDocument]) -> Part:
    """Return the report for a requester of the service."""
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
