"""Explanations: why a message took its route, and what a rule, condition, stylesheet or schema does to a message."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from postroad.core.model.rule import RuleRole
from postroad.core.resources.base import Resource, one_of

ROLES = one_of(*RuleRole)


class ToldView(Resource, kw_only=True):
    """One condition: its text, whether it held (null: it was not evaluated), and the values that it saw."""

    text: str
    held: bool | None
    seen: list[str]
    conditions: list[ToldView]


class TriedRule(Resource, kw_only=True):
    name: str
    version: int
    held: bool
    condition: ToldView | None
    did: list[str]


class TriedService(Resource, kw_only=True):
    service: str
    gcid: str
    role: Annotated[str, ROLES]
    invoker: str
    withheld: bool
    faults: list[str]
    rules: list[TriedRule]


class InvocationView(Resource, kw_only=True):
    service: str
    gcid: str
    logical_only: bool
    rule: str
    arguments: dict[str, str]
    topic: str
    payer: str
    isolated: bool
    absorbs_errors: bool
    dynamic: bool
    redirected: bool
    invocations: list[InvocationView]


class RouteView(Resource, kw_only=True):
    recipient: str
    code: str
    detail: str
    route: list[str]
    invocations: list[InvocationView]


class ExplanationView(Resource, kw_only=True):
    """Why a message took its route, or would take it; ``session`` is empty for a message that was not posted."""

    session: str
    sender: str
    directory: int
    code: str
    detail: str
    forgotten: bool
    services: list[TriedService]
    copies: list[RouteView]


class TrialView(Resource, kw_only=True):
    """The result of a trial: whether a rule or condition held and what it saw, a stylesheet's output, or a schema's verdict.

    Fields that the trial does not have are left out.
    """

    role: Annotated[str | UnsetType, ROLES] = UNSET
    held: bool | UnsetType = UNSET
    condition: ToldView | UnsetType = UNSET
    valid: bool | UnsetType = UNSET
    faults: Annotated[
        list[str] | UnsetType, Meta(description="Documents that could not be read; for schemas, the errors")
    ] = UNSET
    explanation: ExplanationView | UnsetType | None = UNSET
    output: str | UnsetType = UNSET
