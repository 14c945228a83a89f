"""Configuration as code, seen from the client: send a document, get the plan of what it changes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from postroad.client import requests, responses
from postroad.client.exchange import Outcome, Request


class FieldChange(Struct, frozen=True, kw_only=True):
    field: str
    before: Any = None
    after: Any = None
    resets: bool = False  # the document does not name the field, so it returns to its default


class PlannedStep(Struct, frozen=True, kw_only=True):
    """One object that is added, changed or removed."""

    action: str
    kind: str
    name: str
    fields: tuple[FieldChange, ...] = ()


class PlanWarning(Struct, frozen=True, kw_only=True):
    """Something that will not work yet, and does not stop the plan."""

    pointer: str
    detail: str


class Plan(Struct, frozen=True, kw_only=True):
    """What a document changes; ``version`` names this very plan, so that applying it cannot do anything else."""

    version: str
    steps: tuple[PlannedStep, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()

    def resets(self) -> dict[str, list[str]]:
        """By the name of an object, the fields that return to their defaults because the document does not name them."""
        found = {step.name: [item.field for item in step.fields if item.resets] for step in self.steps}
        return {name: fields for name, fields in found.items() if fields}


def export() -> Request:
    return requests.read("/v1/configuration")


def plan(document: dict[str, Any], prune: bool) -> Request:
    return requests.change("POST", "/v1/configuration/plan", {"document": document, "prune": prune})


def apply(document: dict[str, Any], prune: bool, version: str) -> Request:
    value = {"document": document, "prune": prune} | ({"version": version} if version else {})
    return requests.change("POST", "/v1/configuration/apply", value)


def exported(outcome: Outcome) -> dict[str, Any]:
    return responses.value_as(outcome, dict[str, Any])


def planned(outcome: Outcome) -> Plan:
    return responses.value_as(outcome, Plan)
