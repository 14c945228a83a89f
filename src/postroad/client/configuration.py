"""Configuration as code in the client: send a document and get the plan of its changes."""

from __future__ import annotations

from typing import Any

from postroad.client import requests, responses
from postroad.client.steps import ApiRequest, RequestOutcome
from postroad.core.resources.configuration import PlanView


def export() -> ApiRequest:
    return requests.read("/v1/configuration")


def plan(document: dict[str, Any], prune: bool) -> ApiRequest:
    return requests.change("POST", "/v1/configuration/plan", {"document": document, "prune": prune})


def apply(document: dict[str, Any], prune: bool, version: str) -> ApiRequest:
    value = {"document": document, "prune": prune} | ({"version": version} if version else {})
    return requests.change("POST", "/v1/configuration/apply", value)


def parse_export(outcome: RequestOutcome) -> dict[str, Any]:
    return responses.parse_as(outcome, dict[str, Any])


def parse_plan(outcome: RequestOutcome) -> PlanView:
    return responses.parse_as(outcome, PlanView)
