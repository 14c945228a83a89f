"""Tries a rule, a condition, a stylesheet or a schema on a message before it is enabled."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from fastapi import APIRouter, Response
from pydantic import Field, StrictStr, model_validator

from postroad.api.resources.context import Api, ApiContext, Asking, answer, read_message
from postroad.api.resources.explanation_views import ExplanationView, ToldView, condition_view, explanation_view
from postroad.api.resources.explanations import LIMITS
from postroad.api.resources.route_guards import TrialRoute
from postroad.api.resources.schema_trials import SchemaToTry, schema_faults
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.configuration.entries.assets import Content
from postroad.core.configuration.entries.rules import ConditionEntry, RuleEntry, rule_of
from postroad.core.configuration.shapes import Name, StrictShape, Word
from postroad.core.model.asset import AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, Part
from postroad.core.model.rule import RuleRole
from postroad.errors import Refused
from postroad.flow.administration.assets import find_asset
from postroad.flow.administration.try_out import rules as bench

router = APIRouter(route_class=TrialRoute, tags=["rules"])

Parameters = Annotated[dict[Word, StrictStr], Field(max_length=100, default_factory=dict)]


class SavedStylesheet(StrictShape):
    service: Word
    name: Name


class TryWish(StrictShape):
    """Exactly one of rule, condition, stylesheet and schema; on exactly one of message, session and document."""

    service: Annotated[Word | None, Field(description="Owner of the rule or condition, by GCID or address")] = None
    rule: RuleEntry | None = None
    condition: ConditionEntry | None = None
    stylesheet: Annotated[
        Content | SavedStylesheet | None, Field(description="Its text, or the name of the saved asset")
    ] = None
    schema_: Annotated[SchemaToTry | None, Field(alias="schema", description="The schema to validate against")] = None
    message: Annotated[dict[str, Any] | None, Field(description="A message in JSON, as for a post")] = None
    session: Annotated[Word | None, Field(description="Session ID of a stored message")] = None
    document: Annotated[StrictStr | None, Field(description="A document")] = None
    parameters: Annotated[Parameters, Field(description="Parameters of a stylesheet")]

    @model_validator(mode="after")
    def is_one_thing_on_another(self) -> Self:
        if sum(what is not None for what in (self.rule, self.condition, self.stylesheet, self.schema_)) != 1:
            raise ValueError("use exactly one of rule, condition, stylesheet and schema")
        if sum(what is not None for what in (self.message, self.session, self.document)) != 1:
            raise ValueError("use exactly one of message, session and document")
        return self


class TrialView(StrictShape):
    """The result of a trial: whether a rule or condition held and what it saw, a stylesheet's output, or a schema's verdict."""

    role: RuleRole | None = None
    held: bool | None = None
    condition: ToldView | None = None
    faults: Annotated[
        list[str],
        Field(default_factory=list, description="Documents that could not be read; for schemas, the errors"),
    ]
    valid: bool | None = None
    explanation: ExplanationView | None = None
    output: str | None = None


@router.post("/v1/try", response_model=TrialView)
async def try_out(api: Api, caller: Asking, wish: TryWish) -> Response:
    """Try a rule, a condition, a stylesheet or a schema on a message; nothing is stored, sent or enabled."""
    if wish.stylesheet is not None:
        return answer({"output": await _transformed(api, caller, wish)})
    if wish.schema_ is not None:
        faults = await schema_faults(api, caller, wish.schema_, (await _message(api, caller, wish)).parts)
        return answer({"valid": not faults, "faults": faults})
    owner = bench.find_own_service(caller, api.network.directory, wish.service or "")
    message = await _message(api, caller, wish)
    if wish.rule is not None:
        trial = await bench.try_rule(api.network, caller, rule_of(wish.rule, owner.gcid, 0), message)
    else:
        condition = wish.condition.condition() if wish.condition is not None else None
        if condition is None:
            raise Refused("value.invalid", "Specify a rule, a condition or a stylesheet")
        trial = await bench.try_condition(api.network, caller, owner.gcid, condition, message)
    return await api.network.heavy_requests.run(caller.organization or caller.name, lambda: _shown(trial))


def _shown(trial: bench.RuleTrial) -> Response:
    return answer(
        {
            "role": trial.role,
            "held": trial.held,
            "condition": condition_view(trial.told),
            "faults": trial.faults,
            "explanation": explanation_view(trial.explanation) if trial.explanation is not None else None,
        }
    )


async def _message(api: ApiContext, caller: Caller, wish: TryWish) -> Message:
    if wish.session is not None:
        return await bench.load_stored_message(api.network, caller, wish.session)
    if wish.message is not None:
        return await read_message(api, caller, JSON_FORM.media_type, msgspec.json.encode(wish.message), LIMITS)
    return Message(sender=wish.service or "", parts=(_document(wish.document or ""),))


def _document(text: str) -> Part:
    kind = "application/xml" if text.lstrip()[:1] == "<" else "application/json"
    return Part(id="1", content_type=kind, data=text.encode())


async def _transformed(api: ApiContext, caller: Caller, wish: TryWish) -> str:
    """The output for the document, or for the first document of the message."""
    bench.check_may_transform(caller)
    if api.transform is None:
        raise Refused("request.not-implemented", "This network does not support stylesheets")
    sheet = wish.stylesheet
    if isinstance(sheet, SavedStylesheet):
        directory = api.network.directory
        sheet = find_asset(caller, directory, sheet.service, AssetKind.STYLESHEET, sheet.name).content
    message = await _message(api, caller, wish)
    return await bench.try_stylesheet(caller, api.transform, sheet or "", message, wish.parameters)
