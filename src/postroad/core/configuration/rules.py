"""Rules as people write them in JSON and YAML, and their way into the model's ``Rule`` and back.

Kept rule: what stands here is the form only; ``core.routing.checking`` says whether it makes sense. What is written back is read
as the very same rule.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from postroad.core.configuration.rule_shapes import SOME, ActionEntry, ConditionEntry
from postroad.core.configuration.shapes import Name, Shape
from postroad.core.model.rule import (
    Action,
    ActionKind,
    Combining,
    Comparing,
    Comparison,
    Condition,
    Place,
    Rule,
    RuleRole,
    ValueType,
)

ALWAYS = "always"
ALWAYS_WRITTEN = {"exists": {"header": "from"}}


def _always(value: Any) -> Any:
    return ALWAYS_WRITTEN if value == ALWAYS else value


def _or_always(schema: dict[str, Any]) -> None:
    condition = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"const": ALWAYS}, condition]


class RuleEntry(Shape):
    """One rule of a service; its place in the list is its place in the order."""

    name: Name
    role: Annotated[RuleRole, Field(description="When it is tried")] = RuleRole.ANY
    enabled: StrictBool = True
    positions: Annotated[
        dict[Literal["sender", "recipient", "inTransit"], Annotated[StrictInt, Field(ge=1, le=10_000)]],
        Field(
            default_factory=dict,
            description="Its position in the order of single roles, counted from 1; else its place in the list",
        ),
    ]
    description: Annotated[StrictStr, Field(max_length=4_000)] = ""
    when: Annotated[ConditionEntry, BeforeValidator(_always), Field(json_schema_extra=_or_always)]
    then: Annotated[tuple[ActionEntry, ...], Field(max_length=50, json_schema_extra=SOME)]


def rule_of(entry: RuleEntry, service_gcid: str, place: int) -> Rule:
    return Rule(
        service=service_gcid,
        name=entry.name,
        place=place,
        role=entry.role,
        when=entry.when.condition(),
        then=tuple(action.action() for action in entry.then),
        enabled=entry.enabled,
        description=entry.description,
        positions=tuple(sorted((RuleRole(role), position) for role, position in entry.positions.items())),
    )


# ---- and back --------------------------------------------------------------------------------------------------------


def entry_of(rule: Rule) -> dict[str, Any]:
    """The rule as it is written, without what is as usual."""
    when = condition_entry(rule.when)
    return _given(
        name=rule.name,
        role=rule.role.value if rule.role is not RuleRole.ANY else None,
        enabled=None if rule.enabled else False,
        positions={role.value: position for role, position in rule.positions},
        description=rule.description,
        when=ALWAYS if when == ALWAYS_WRITTEN else when,
        then=[_action_entry(action) for action in rule.then],
    )


def condition_entry(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Comparison):
        return {condition.operator.value: _comparison_entry(condition)}
    inner: Any = [condition_entry(one) for one in condition.conditions]
    return {condition.operator.value: inner[0] if condition.operator is Combining.NOT else inner}


def _comparison_entry(comparison: Comparison) -> dict[str, Any]:
    several = comparison.operator is Comparing.EQUALS_ONE_OF
    values = list(comparison.values)
    operands = {"values": values} if several or len(values) > 1 else {"value": values[0]} if values else {}
    kind = _given(**{"as": comparison.type.value}) if comparison.type is not ValueType.STRING else {}
    rest = _given(content=comparison.content, other=place_entry(comparison.other) if comparison.other else None)
    return {**place_entry(comparison.place), **kind, **{n: v for n, v in operands.items() if v != []}, **rest}


def place_entry(place: Place) -> dict[str, Any]:
    rest = _given(document=place.document, namespaces=dict(place.namespaces), schema=place.schema)
    return {place.where.value: place.path, **rest}


def _action_entry(action: Action) -> dict[str, Any]:
    match action.kind:
        case ActionKind.STOP_RULE_EVALUATION:
            return {action.kind.value: True}
        case ActionKind.CHANGE_TOPIC:
            return {action.kind.value: action.topic}
    rest = _given(
        arguments={argument.name: argument.value for argument in action.arguments},
        topic=action.topic,
        pays=action.pays or None,
        isolate=action.isolates or None,
        errors="absorb" if action.absorbs else None,
    )
    return {action.kind.value: action.service, **rest}


def _given(**fields: Any) -> dict[str, Any]:
    """Fields without those that are not given."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", {})}
