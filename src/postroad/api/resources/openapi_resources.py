"""Describes the response types of ``core/resources`` in the OpenAPI document."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args

from msgspec import UNSET
from msgspec.json import schema_components
from msgspec.structs import fields

from postroad.core.resources.base import Resource, resource_types

MARK = "x-resource"  # in the meantime, on the operation that returns it: the names of the types
REFERENCE = "#/components/schemas/{name}"


def returns(resource: type[Resource] | UnionType, status: int = 200, **operation: Any) -> dict[str, Any]:
    """Return the arguments of a route that returns a resource: ``@router.get(path, **returns(BatchDetails))``.

    A route may return one of several: ``returns(LetterResultPage | LetterCount)``. ``operation`` is what else the OpenAPI
    document has about it.
    """
    extra = {MARK: [one.__name__ for one in get_args(resource) or (resource,)], **operation}
    return {"response_model": None, "status_code": status, "openapi_extra": extra}


def describe_resources(document: dict[str, Any]) -> None:
    """Add the schemas of all resources that operations return, and refer to them there."""
    types = {one.__name__: one for one in resource_types()}
    returned = {}
    for item in document["paths"].values():
        for operation in item.values():
            for name in operation.pop(MARK, ()):
                returned[name] = types[name]
                _refer_to(REFERENCE.format(name=name), operation["responses"])
    _, schemas = schema_components(list(returned.values()), ref_template=REFERENCE)
    for name, schema in schemas.items():
        if name in types:
            _close(schema, types[name])
    components = document["components"]
    components["schemas"] = dict(sorted((components["schemas"] | schemas).items()))


def _refer_to(reference: str, responses: dict[str, Any]) -> None:
    """Refer to a resource in the successful responses; one that has a schema already returns one or the other."""
    for status, response in responses.items():
        if status.startswith("2"):
            known = response.setdefault("content", {}).get("application/json", {}).get("schema")
            schema = {"anyOf": [known, {"$ref": reference}]} if known else {"$ref": reference}
            response["content"]["application/json"] = {"schema": schema}


def _close(schema: dict[str, Any], resource: type[Resource]) -> None:
    """Say which fields the server sends: those that the type has, and all of them unless it omits some."""
    schema["additionalProperties"] = False
    for one in () if resource.__struct_config__.omit_defaults else fields(resource):
        if one.default is not UNSET and one.encode_name not in schema["required"]:
            schema["required"].append(one.encode_name)
            schema["properties"][one.encode_name].pop("default", None)
