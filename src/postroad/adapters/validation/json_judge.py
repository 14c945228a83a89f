"""JSON Schema, drafts 4 to 2020-12, by jsonschema-rs. Runs only in a worker process.

Rules: a ``$ref`` to something outside the same catalogue is an error. Patterns run in time linear in the text, so
lookahead and lookbehind are refused when the schema is saved. Numbers keep their written precision.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs

from postroad.adapters.validation.frames import MAX_FAULTS, NO_REASON, FoundFault, make_fault
from postroad.core.model.asset import AssetKind
from postroad.core.schemas.schema_reader import SchemaReference, json_identity
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused

SCHEME = "catalogue:///"
LISTED_BYTES = 65_536  # of larger documents the first fault is reported: the engine finds all before it tells one

_PATTERNS = jsonschema_rs.RegexOptions()


class JsonJudge:
    def __init__(self, name: str, texts: dict[str, str]) -> None:
        self._shelf = SchemaTexts(AssetKind.JSONSCHEMA, texts)
        self._schemas = {one: _schema(text) for one, text in texts.items()}
        schema = self._schemas[name]
        base = None if json_identity(schema) else f"{SCHEME}{name.encode().hex()}"
        try:
            self._validator = jsonschema_rs.validator_for(
                schema, retriever=self._retrieved, base_uri=base, pattern_options=_PATTERNS
            )
        except jsonschema_rs.ValidationError as fault:
            pointer = _pointer(fault.instance_path)
            raise Refused("schema.invalid", fault.message, pointer=pointer) from None
        except (jsonschema_rs.ReferencingError, ValueError) as fault:
            raise Refused("schema.invalid", str(fault)) from None

    def faults(self, document: bytes) -> list[FoundFault]:
        try:
            value = _READER.decode(document.removeprefix(b"\xef\xbb\xbf").decode())
        except (ValueError, RecursionError) as fault:
            return [make_fault(f"this is not JSON in UTF-8: {fault}", getattr(fault, "lineno", 0))]
        if self._validator.is_valid(value):
            return []
        return (self._listed(value) if len(document) <= LISTED_BYTES else self._first(value)) or [NO_REASON]

    def _listed(self, value: Any) -> list[FoundFault]:
        return [_fault(error) for error, _ in zip(self._validator.iter_errors(value), range(MAX_FAULTS), strict=False)]

    def _first(self, value: Any) -> list[FoundFault]:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [_fault(error)]
        return []

    def _retrieved(self, uri: str) -> Any:
        name = self._shelf.target(SchemaReference(location=uri))
        if not name:
            raise LookupError(f"{uri} is not in the catalogue")
        return self._schemas[name]


def _schema(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise Refused("schema.invalid", f"this is not JSON, or nested too deep: {fault}") from None


def _fault(error: jsonschema_rs.ValidationError) -> FoundFault:
    return make_fault(error.message, 0, _pointer(error.instance_path))


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds an object; duplicate names are refused, because parsers disagree on which one counts."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return members


_READER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
