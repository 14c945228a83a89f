"""Rules, conditions and actions as people write them, and their conversion to and from ``Rule``.

Rule: nothing is converted silently. A bare number is accepted only where numbers are compared, since YAML would have
changed a product code like 0123 unnoticed.

Only the form is checked here; ``core.routing.rules.rule_check`` checks whether a rule makes sense. A written rule is
read back as the same rule.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from postroad.core.configuration.shapes import Name, StrictShape
from postroad.core.model.message import Argument
from postroad.core.model.rule import (
    INCLUDING,
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)


def _check_literal(value: Any) -> Any:
    if not isinstance(value, (str, int, float)):
        raise ValueError("must be a text, a number, true or false")
    return value


Path = Annotated[StrictStr, StringConstraints(min_length=1, max_length=1_000)]
Text = Annotated[StrictStr, StringConstraints(max_length=4_096)]
Literally = Annotated[
    Any, AfterValidator(_check_literal), WithJsonSchema({"type": ["string", "number", "boolean"], "maxLength": 4_096})
]
AT_LEAST_ONE = {"minItems": 1}  # told to editors; ``checking`` refuses an empty list, once and in words
Namespaces = Annotated[dict[StrictStr, StrictStr], Field(max_length=50)]


class PlaceEntry(StrictShape):
    """Where a value stands: exactly one of header, body and attachment."""

    header: Annotated[Path | None, Field(description="Header field, such as topic or properties.region")] = None
    body: Annotated[Path | None, Field(description="A path into documents: /a/b for XML, $.a.b for JSON")] = None
    attachment: Annotated[Path | None, Field(description="A path into attachments: /a/b for XML, $.a.b for JSON")] = (
        None
    )
    document: Annotated[Text, Field(description="The id of the document or attachment")] = ""
    namespaces: Annotated[
        Namespaces, Field(default_factory=dict, description="Namespaces of the prefixes in an XML path")
    ]
    schema_: Annotated[
        Text, Field(alias="schema", description="A schema asset whose default attributes are applied")
    ] = ""

    @model_validator(mode="after")
    def check_location(self) -> Self:
        if sum(path is not None for path in (self.header, self.body, self.attachment)) != 1:
            raise ValueError("needs exactly one of header, body and attachment")
        return self

    def place(self) -> ValueLocation:
        where = next(where for where in MessageSection if getattr(self, where.value) is not None)
        return ValueLocation(
            where=where,
            path=getattr(self, where.value),
            document=self.document,
            namespaces=tuple(self.namespaces.items()),
            schema=self.schema_,
        )


class ComparisonEntry(PlaceEntry):
    """A place, and what it is compared with."""

    type: Annotated[ValueType, Field(alias="as", description="Type of the comparison")] = ValueType.STRING
    value: Literally | None = None
    values: Annotated[tuple[Literally, ...] | None, Field(max_length=1_000, json_schema_extra=AT_LEAST_ONE)] = None
    content: Annotated[StrictStr | None, Field(min_length=1, max_length=10_000, description="Element content")] = None
    other: Annotated[PlaceEntry | None, Field(description="Another location in the same message")] = None

    @model_validator(mode="after")
    def check_precision(self) -> Self:
        if self.value is not None and self.values is not None:
            raise ValueError("use value or values, not both")
        bare = any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.literals)
        if bare and self.type is not ValueType.NUMBER:
            raise ValueError("put a number in quotes, or compare as: number")
        return self

    @property
    def literals(self) -> tuple[Any, ...]:
        return self.values or (() if self.value is None else (self.value,))

    def comparison(self, operator: Comparing) -> ValueComparison:
        return ValueComparison(
            operator=operator,
            place=self.place(),
            type=self.type,
            values=tuple(_text(value) for value in self.literals),
            content=self.content or "",
            other=self.other.place() if self.other else None,
        )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _operators(schema: dict[str, Any]) -> None:
    """One operator a condition; those that combine may be written in capitals too."""
    properties = schema["properties"]
    properties |= {operator.value.upper(): properties[operator.value] for operator in Combining}
    schema |= {"minProperties": 1, "maxProperties": 1}


Conditions = Annotated[tuple["ConditionEntry", ...], Field(max_length=200, json_schema_extra=AT_LEAST_ONE)]
Compared = ComparisonEntry | None


class ConditionEntry(StrictShape):
    """One condition: the operator, and what it works on."""

    model_config = ConfigDict(json_schema_extra=_operators)

    and_: Annotated[Conditions | None, Field(alias="and", description="All of them are true")] = None
    or_: Annotated[Conditions | None, Field(alias="or", description="At least one of them is true")] = None
    xor: Annotated[Conditions | None, Field(description="An odd number of them are true")] = None
    not_: Annotated[ConditionEntry | None, Field(alias="not", description="The condition is not true")] = None
    equals: Compared = None
    not_equals: Compared = None
    equals_one_of: Compared = None
    less_than: Compared = None
    greater_than: Compared = None
    exists: Compared = None
    matches: Compared = None

    @model_validator(mode="before")
    @classmethod
    def to_lower_case(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        capitals = {operator.value.upper(): operator.value for operator in Combining}
        return {capitals.get(name, name): value for name, value in data.items()}

    @model_validator(mode="after")
    def check_single_operator(self) -> Self:
        if len(self.model_fields_set) != 1 or any(getattr(self, name) is None for name in self.model_fields_set):
            raise ValueError("a condition has exactly one operator, such as equals or and")
        return self

    def condition(self) -> Condition:
        (field,) = self.model_fields_set
        given = getattr(self, field)
        operator = type(self).model_fields[field].alias or field
        if isinstance(given, ComparisonEntry):
            return given.comparison(Comparing(operator))
        inner = given if isinstance(given, tuple) else (given,)
        return Combination(operator=Combining(operator), conditions=tuple(entry.condition() for entry in inner))


def _one_kind(schema: dict[str, Any]) -> None:
    schema["oneOf"] = [{"required": [kind.value]} for kind in ActionKind]


Included = Annotated[Text | None, Field(description="A service, by address or GCID")]


class ActionEntry(StrictShape):
    """One action; what stands beside its name is for the service that it brings in."""

    model_config = ConfigDict(json_schema_extra=_one_kind)

    add_service_after: Included = None
    add_service_before: Included = None
    add_service: Included = None
    redirect: Included = None
    change_topic: Text | None = None
    stop_rule_evaluation: Literal[True] | None = None
    arguments: Annotated[dict[StrictStr, Text], Field(default_factory=dict, max_length=100)]
    topic: Annotated[Text, Field(description="Topic for the inserted service only")] = ""
    pays: Annotated[StrictBool, Field(description="The rule's service pays for it")] = False
    isolate: Annotated[
        StrictBool, Field(description="It sees the rule's service as the sender, and not the wider route")
    ] = False
    errors: Annotated[Literal["show", "absorb"], Field(description="Whether its errors end the route")] = "show"

    @model_validator(mode="after")
    def check_single_action(self) -> Self:
        named = [field for field in _KINDS if getattr(self, field) is not None]
        if len(named) != 1:
            raise ValueError("an action has exactly one name, such as addServiceAfter or redirect")
        if _KINDS[named[0]] not in INCLUDING and self.model_fields_set != {named[0]}:
            raise ValueError(f"{_KINDS[named[0]].value} does not insert a service; remove the other fields")
        return self

    def action(self) -> RuleAction:
        kind = next(kind for field, kind in _KINDS.items() if getattr(self, field) is not None)
        if kind not in INCLUDING:
            return RuleAction(kind=kind, topic=self.change_topic or "")
        return RuleAction(
            kind=kind,
            service=next(getattr(self, field) for field, included in _KINDS.items() if included is kind),
            arguments=tuple(Argument(name, value) for name, value in self.arguments.items()),
            topic=self.topic,
            pays=self.pays,
            isolates=self.isolate,
            absorbs=self.errors == "absorb",
        )


_KINDS = {
    field: ActionKind(info.alias) for field, info in ActionEntry.model_fields.items() if info.alias in set(ActionKind)
}

ALWAYS = "always"
ALWAYS_WRITTEN = {"exists": {"header": "from"}}


def _always(value: Any) -> Any:
    return ALWAYS_WRITTEN if value == ALWAYS else value


def _or_always(schema: dict[str, Any]) -> None:
    condition = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"const": ALWAYS}, condition]


class RuleEntry(StrictShape):
    """One rule of a service; its place in the list is its place in the order."""

    name: Name
    role: Annotated[RuleRole, Field(description="When the rule is evaluated")] = RuleRole.ANY
    enabled: StrictBool = True
    positions: Annotated[
        dict[Literal["sender", "recipient", "inTransit"], Annotated[StrictInt, Field(ge=1, le=10_000)]],
        Field(
            default_factory=dict,
            description="Its position per role, starting at 1; default: its position in the list",
        ),
    ]
    description: Annotated[StrictStr, Field(max_length=4_000)] = ""
    when: Annotated[ConditionEntry, BeforeValidator(_always), Field(json_schema_extra=_or_always)]
    then: Annotated[tuple[ActionEntry, ...], Field(max_length=50, json_schema_extra=AT_LEAST_ONE)]


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


def rule_entry(rule: Rule) -> dict[str, Any]:
    """Return the rule as it is written in a document, without defaults."""
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
    if isinstance(condition, ValueComparison):
        return {condition.operator.value: _comparison_entry(condition)}
    inner: Any = [condition_entry(one) for one in condition.conditions]
    return {condition.operator.value: inner[0] if condition.operator is Combining.NOT else inner}


def _comparison_entry(comparison: ValueComparison) -> dict[str, Any]:
    several = comparison.operator is Comparing.EQUALS_ONE_OF
    values = list(comparison.values)
    operands = {"values": values} if several or len(values) > 1 else {"value": values[0]} if values else {}
    kind = _given(**{"as": comparison.type.value}) if comparison.type is not ValueType.STRING else {}
    rest = _given(content=comparison.content, other=place_entry(comparison.other) if comparison.other else None)
    return {**place_entry(comparison.place), **kind, **{n: v for n, v in operands.items() if v != []}, **rest}


def place_entry(place: ValueLocation) -> dict[str, Any]:
    rest = _given(document=place.document, namespaces=dict(place.namespaces), schema=place.schema)
    return {place.where.value: place.path, **rest}


def _action_entry(action: RuleAction) -> dict[str, Any]:
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
