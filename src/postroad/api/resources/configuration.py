"""Configuration as code: export, plan, apply, and the schema for editors."""

from __future__ import annotations

from typing import Annotated, Any, cast

import msgspec
from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictBool, StrictStr

from postroad.api.resources.context import Api, ApiContext, Asking, answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import YAML, DocumentRoute, OpenRoute, prefers
from postroad.core.configuration.change_plan import ChangedField, ConfigurationPlan, ObjectStep, StepAction
from postroad.core.configuration.document import document_schema
from postroad.core.configuration.shapes import StrictShape
from postroad.core.configuration.yaml_text import as_yaml
from postroad.core.model.caller import Caller
from postroad.core.resources.base import build_resource
from postroad.core.resources.configuration import FieldView, PlanView, StepView, WarningView
from postroad.flow.administration import configuration as configuring

router = APIRouter(route_class=DocumentRoute, tags=["configuration"])
opened = APIRouter(route_class=OpenRoute, tags=["configuration"])

Document = Annotated[dict[str, Any], Field(description="The document; its schema is at /v1/configuration/schema")]


class PlanWish(StrictShape):
    document: Document
    prune: Annotated[StrictBool, Field(description="Also remove objects that the document does not name")] = False


class ApplyWish(PlanWish):
    version: Annotated[StrictStr, Field(max_length=64, description="The version of the plan that you have seen")]


def plan_view(plan: ConfigurationPlan, *, applied: bool) -> PlanView:
    # One step at a time: a plan of thousands would keep the interpreter's lock while it is encoded as a whole.
    encoded = tuple(msgspec.Raw(msgspec.json.encode(_step_view(step))) for step in plan.steps)
    return PlanView(
        version=plan.version,
        add=plan.count(StepAction.ADD),
        change=plan.count(StepAction.CHANGE),
        remove=plan.count(StepAction.REMOVE),
        steps=cast("tuple[StepView, ...]", encoded),
        warnings=tuple(build_resource(WarningView, one) for one in plan.warnings),
        applied=applied,
    )


def _step_view(step: ObjectStep) -> StepView:
    fields = tuple(_field_view(item) for item in step.fields)
    return build_resource(StepView, step, action=step.action.value, fields=fields)


def _field_view(change: ChangedField) -> FieldView:
    return build_resource(FieldView, change)


@router.get("/v1/configuration", response_model=dict[str, Any])
async def export_configuration(request: Request, api: Api, caller: Asking) -> Response:
    """Your organization's configuration (for operators, everyone's), as JSON or YAML; applying it changes nothing."""
    as_text = prefers(request, YAML)

    def written() -> Response:
        document = configuring.export_configuration(caller, api.network.directory)
        return Response(as_yaml(document), media_type=YAML) if as_text else answer(document)

    return await api.network.heavy_requests.run(caller.organization or caller.name, written)


@opened.get("/v1/configuration/schema")
async def read_schema() -> dict[str, Any]:
    """The JSON Schema of configuration documents, for editors."""
    return document_schema()


@router.post("/v1/configuration/plan", **returns(PlanView))
async def plan_configuration(api: Api, caller: Asking, wish: PlanWish) -> Response:
    """What applying a document would change. Changes nothing."""
    with api.authenticator.registering.adding(caller.organization or caller.name):
        plan = await configuring.plan_configuration(api.administration, caller, wish.document, prune=wish.prune)
    return await _answer_plan(api, caller, plan, applied=False)


@router.post("/v1/configuration/apply", **returns(PlanView))
async def apply_configuration(api: Api, caller: Asking, wish: ApplyWish) -> Response:
    """Apply a document all at once, if the plan is still the one that ``version`` names."""
    with api.authenticator.registering.adding(caller.organization or caller.name):
        plan = await configuring.apply(
            api.administration, caller, wish.document, prune=wish.prune, version=wish.version
        )
    return await _answer_plan(api, caller, plan, applied=True)


async def _answer_plan(api: ApiContext, caller: Caller, plan: ConfigurationPlan, *, applied: bool) -> Response:
    who = caller.organization or caller.name
    return await api.network.heavy_requests.run(who, lambda: answer(plan_view(plan, applied=applied)))
