"""Tries a rule, a condition, a stylesheet or a schema on a message before it is enabled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

import msgspec
from fastapi import APIRouter, Response
from pydantic import Field, StrictStr, model_validator

from postroad.api.resources.context import Api, ApiContext, Asking, answer, read_message
from postroad.api.resources.explanations import LIMITS, condition_view, explanation_view
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import TrialRoute
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.configuration.entries.assets import Content
from postroad.core.configuration.entries.rules import ConditionEntry, RuleEntry, rule_of
from postroad.core.configuration.shapes import Name, StrictShape, Word
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.message import Message, Part
from postroad.core.resources.explanations import TrialView
from postroad.core.schemas.catalogue import SchemaCatalogue
from postroad.core.schemas.schema import SCHEMA_KINDS
from postroad.errors import Refused
from postroad.flow.administration.assets import find_asset, list_owned_assets, list_siblings
from postroad.flow.administration.base import permission_denied
from postroad.flow.administration.try_out import rules as bench

router = APIRouter(route_class=TrialRoute, tags=["rules"])


class SchemaToTry(StrictShape):
    """A saved schema by service and name, or a text; a text with a service can refer to that service's schemas."""

    kind: Annotated[AssetKind, Field(description="schema, dtd or jsonschema")] = AssetKind.SCHEMA
    name: Name = "tried"
    service: Annotated[Word | None, Field(description="Service that owns the schemas, by GCID or address")] = None
    content: Annotated[Content | None, Field(description="Its text; default: the saved schema")] = None

    @model_validator(mode="after")
    def check_location(self) -> Self:
        if self.kind not in SCHEMA_KINDS:
            raise ValueError("a schema's kind is schema, dtd or jsonschema")
        if self.content is None and self.service is None:
            raise ValueError("needs the schema's content, or the service that stores it")
        return self


async def schema_faults(api: ApiContext, caller: Caller, wish: SchemaToTry, parts: Iterable[Part]) -> list[str]:
    """Return the validation errors of the first document; empty if it is valid."""
    if not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer may test schemas")
    if api.validator is None:
        raise Refused("request.not-implemented", "This network does not support validation")
    document = next((part for part in parts if not part.attachment), None)
    if document is None:
        raise Refused("message.incomplete", "The message has no document to validate")
    schema = _catalogue(api, caller, wish).find(wish.name, wish.kind)
    return [str(fault) for fault in await api.validator.validate(schema, document.data)]


def _catalogue(api: ApiContext, caller: Caller, wish: SchemaToTry) -> SchemaCatalogue:
    saved = list_owned_assets(caller, api.network.directory, wish.service, wish.kind) if wish.service else []
    if wish.content is not None:
        tried = Asset(service="", kind=wish.kind, name=wish.name, content=wish.content)
        saved = [*list_siblings(tried, saved), tried]
    return SchemaCatalogue(wish.service or "This schema", saved)


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
    def check_operands(self) -> Self:
        if sum(what is not None for what in (self.rule, self.condition, self.stylesheet, self.schema_)) != 1:
            raise ValueError("use exactly one of rule, condition, stylesheet and schema")
        if sum(what is not None for what in (self.message, self.session, self.document)) != 1:
            raise ValueError("use exactly one of message, session and document")
        return self


@router.post("/v1/try", **returns(TrialView))
async def try_out(api: Api, caller: Asking, wish: TryWish) -> Response:
    """Try a rule, a condition, a stylesheet or a schema on a message; nothing is stored, sent or enabled."""
    if wish.stylesheet is not None:
        return answer(TrialView(output=await _transformed(api, caller, wish)))
    if wish.schema_ is not None:
        faults = await schema_faults(api, caller, wish.schema_, (await _message(api, caller, wish)).parts)
        return answer(TrialView(valid=not faults, faults=faults))
    owner = bench.find_own_service(caller, api.network.directory, wish.service or "")
    message = await _message(api, caller, wish)
    if wish.rule is not None:
        trial = await bench.try_rule(api.network, caller, rule_of(wish.rule, owner.gcid, 0), message)
    else:
        condition = wish.condition.condition() if wish.condition is not None else None
        if condition is None:
            raise Refused("value.invalid", "Specify a rule, a condition or a stylesheet")
        trial = await bench.try_condition(api.network, caller, owner.gcid, condition, message)
    return await api.network.heavy_requests.run(caller.organization or caller.name, lambda: answer(_shown(trial)))


def _shown(trial: bench.RuleTrial) -> TrialView:
    return TrialView(
        role=trial.role,
        held=trial.held,
        condition=condition_view(trial.told),
        faults=list(trial.faults),
        explanation=explanation_view(trial.explanation) if trial.explanation is not None else None,
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
