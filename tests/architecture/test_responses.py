"""Every response of the API is one type of ``core/resources``, which the SDK decodes, so that no field list is copied."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import get_args

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from postroad.api.application import ROUTES
from postroad.api.resources.openapi_resources import returns
from postroad.core.configuration.shapes import StrictShape
from postroad.core.resources.base import Resource, resource_types
from postroad.core.resources.models import NodeSummary

OPENAPI = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"

# Responses that are described by pydantic. This list may only shrink.
CONFIGURATION = {"RuleView", "RulePage", "ServiceView", "ServicePage"}  # entries as they are written, with an identity
DOCUMENTS = {"dict"}  # the exported configuration
EXCEPTIONS = CONFIGURATION | DOCUMENTS


class Place(StrictShape):
    """A copy of a resource's field list, which the checks must find."""

    tag: str
    under: str
    topics: list[str]


def described_by_pydantic(routes: Iterable[BaseRoute]) -> set[str]:
    models = [route.response_model for route in routes if isinstance(route, APIRoute)]
    return {" | ".join(_names(model)) for model in models if model is not None}


def _names(model: object) -> list[str]:
    parts = get_args(model) if isinstance(model, UnionType) else ()
    return [getattr(one, "__name__", str(one)) for one in parts or (model,)]


def shapes(base: type[StrictShape] = StrictShape) -> Iterator[type[StrictShape]]:
    for one in base.__subclasses__():
        yield one
        yield from shapes(one)


def copies_of(resources: Iterable[type[Resource]], copies: Iterable[type[StrictShape]]) -> list[tuple[str, str]]:
    """Return the pydantic classes that list the same fields, by their names in JSON, as a resource."""
    lists = {frozenset(one.__struct_encode_fields__): one.__name__ for one in resources}
    found = []
    for shape in copies:
        names = frozenset(field.alias or name for name, field in shape.model_fields.items())
        if names in lists and len(names) > 2:
            found.append((shape.__name__, lists[names]))
    return found


def test_responses_are_resources() -> None:
    assert described_by_pydantic(ROUTES) == EXCEPTIONS, "return a type of core/resources; the list may only shrink"


def test_a_response_that_is_described_by_pydantic_is_seen() -> None:
    router = APIRouter()
    router.add_api_route("/place", lambda: None, response_model=Place)
    router.add_api_route("/either", lambda: None, response_model=Place | int)
    router.add_api_route("/node", lambda: None, **returns(NodeSummary))
    assert described_by_pydantic(router.routes) == {"Place", "Place | int"}


def test_no_field_list_of_a_resource_has_a_copy() -> None:
    copies = copies_of(resource_types(), (one for one in shapes() if one.__module__.startswith("postroad.api")))
    assert copies == []


def test_a_copied_field_list_is_seen() -> None:
    assert copies_of(resource_types(), [Place]) == [("Place", "NodeSummary")]


def test_every_answer_in_json_has_a_schema() -> None:
    document = json.loads(OPENAPI.read_text())
    without = [
        f"{method} {path}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        for status, response in operation["responses"].items()
        if status.startswith("2")
        and response.get("content", {}).get("application/json", {"schema": 1}).get("schema") == {}
    ]
    assert without == ["get /v1/services/{service}/assets/{kind}/{name}"]  # a file, which may be any JSON
