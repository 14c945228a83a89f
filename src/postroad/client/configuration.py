"""Configuration as code in the client: send a document and get the plan of its changes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from postroad.client import requests, responses
from postroad.client.steps import ApiRequest, RequestOutcome


class PlanFieldChange(Struct, frozen=True, kw_only=True):
    field: str
    before: Any = None
    after: Any = None
    resets: bool = False  # the document does not name the field, so it returns to its default


class PlanStep(Struct, frozen=True, kw_only=True):
    """One object that is added, changed or removed."""

    action: str
    kind: str
    name: str
    fields: tuple[PlanFieldChange, ...] = ()


class PlanWarning(Struct, frozen=True, kw_only=True):
    """Something that will not work yet, and does not stop the plan."""

    pointer: str
    detail: str


class PlannedChanges(Struct, frozen=True, kw_only=True):
    """The changes that a document makes; ``version`` identifies the plan, so that exactly it is applied."""

    version: str
    steps: tuple[PlanStep, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()

    def resets(self) -> dict[str, list[str]]:
        """The fields that return to their defaults, by object, because the document omits them."""
        found = {step.name: [item.field for item in step.fields if item.resets] for step in self.steps}
        return {name: fields for name, fields in found.items() if fields}


def export() -> ApiRequest:
    return requests.read("/v1/configuration")


def plan(document: dict[str, Any], prune: bool) -> ApiRequest:
    return requests.change("POST", "/v1/configuration/plan", {"document": document, "prune": prune})


def apply(document: dict[str, Any], prune: bool, version: str) -> ApiRequest:
    value = {"document": document, "prune": prune} | ({"version": version} if version else {})
    return requests.change("POST", "/v1/configuration/apply", value)


def parse_export(outcome: RequestOutcome) -> dict[str, Any]:
    return responses.parse_as(outcome, dict[str, Any])


def parse_plan(outcome: RequestOutcome) -> PlannedChanges:
    return responses.parse_as(outcome, PlannedChanges)
