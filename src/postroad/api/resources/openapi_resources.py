"""Describes the response types of ``core/resources`` in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from msgspec.json import schema_components

from postroad.core.resources.base import Resource, resource_types

MARK = "x-resource"  # in the meantime, on the operation that returns it: the name of the type
REFERENCE = "#/components/schemas/{name}"


def returns(resource: type[Resource], status: int = 200) -> dict[str, Any]:
    """Return the arguments of a route that returns a resource: ``@router.get(path, **returns(BatchDetails))``."""
    return {"response_model": None, "status_code": status, "openapi_extra": {MARK: resource.__name__}}


def describe_resources(document: dict[str, Any]) -> None:
    """Add the schemas of all resources that operations return, and refer to them there."""
    types = {one.__name__: one for one in resource_types()}
    returned = {}
    for item in document["paths"].values():
        for operation in item.values():
            name = operation.pop(MARK, "")
            if name:
                returned[name] = types[name]
                success = next(status for status in operation["responses"] if status.startswith("2"))
                schema = {"schema": {"$ref": REFERENCE.format(name=name)}}
                operation["responses"][success]["content"] = {"application/json": schema}
    _, schemas = schema_components(list(returned.values()), ref_template=REFERENCE)
    for schema in schemas.values():
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    components = document["components"]
    components["schemas"] = dict(sorted((components["schemas"] | schemas).items()))
