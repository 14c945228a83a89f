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


class PlannedStep(Struct, frozen=True, kw_only=True):
    """One object that is added, changed or removed."""

    action: str
    kind: str
    name: str
    fields: tuple[FieldChange, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """What a document changes; ``version`` names this very plan, so that applying it cannot do anything else."""

    version: str
    steps: tuple[PlannedStep, ...] = ()


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
