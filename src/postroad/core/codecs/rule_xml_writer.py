"""Writes rules as indented XML; default values are left out.

Rule: ``rule_xml`` reads the output as the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.rule_xml import ACTIONS, COMBINING, NAMESPACE, WHERE
from postroad.core.codecs.xml_escape import attribute_value, text_value
from postroad.core.model.rule import (
    INCLUDING,
    ActionKind,
    Combination,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)

_INDENT = "  "
_COMBINED = {operator: name for name, operator in COMBINING.items()}
_PLACED = {where: name for name, where in WHERE.items()}
_ACTED = {kind: name for name, kind in ACTIONS.items()}

Lines = Iterator[str]


def encode_rules(rules: Iterable[Rule]) -> bytes:
    """A document with these rules, in UTF-8."""
    inner = [line for rule in rules for line in _rule(rule)]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', *_element("Rules", {"xmlns": NAMESPACE}, inner)]
    return "\n".join([*lines, ""]).encode()


def _rule(rule: Rule) -> Lines:
    given = {
        "name": rule.name,
        "role": None if rule.role is RuleRole.ANY else rule.role.value,
        "enabled": None if rule.enabled else "false",
        "positions": " ".join(f"{role.value}={position}" for role, position in rule.positions) or None,
    }
    inner = [
        *(_text("Description", rule.description) if rule.description else ()),
        *_element("Condition", {}, _condition(rule.when)),
        *_element("Actions", {}, [line for action in rule.then for line in _action(action)]),
    ]
    return _element("Rule", given, inner)


def _condition(condition: Condition) -> Lines:
    if isinstance(condition, Combination):
        inner = [line for one in condition.conditions for line in _condition(one)]
        return _element(_COMBINED[condition.operator], {}, inner)
    return _comparison(condition)


def _comparison(comparison: ValueComparison) -> Lines:
    inner = [
        *_place(comparison.place),
        *(line for value in comparison.values for line in _text("Value", value)),
        *(_text("Content", comparison.content) if comparison.content else ()),
        *(_element("Other", {}, _place(comparison.other)) if comparison.other else ()),
    ]
    kind = None if comparison.type is ValueType.STRING else comparison.type.value
    return _element(comparison.operator.value, {"as": kind}, inner)


def _place(place: ValueLocation) -> Lines:
    namespaces = [
        line for prefix, uri in place.namespaces for line in _element("Namespace", {"prefix": prefix, "uri": uri}, ())
    ]
    path = "item" if place.where is MessageSection.HEADER else "path"
    given = {path: place.path, "document": place.document or None, "schema": place.schema or None}
    return _element(_PLACED[place.where], given, namespaces)


def _action(action: RuleAction) -> Lines:
    if action.kind not in INCLUDING:
        topic = action.topic if action.kind is ActionKind.CHANGE_TOPIC else None
        return _element(_ACTED[action.kind], {"topic": topic}, ())
    given = {
        "service": action.service,
        "topic": action.topic or None,
        "pays": "true" if action.pays else None,
        "isolate": "true" if action.isolates else None,
        "errors": "absorb" if action.absorbs else None,
    }
    arguments = [line for one in action.arguments for line in _text("Argument", one.value, {"name": one.name})]
    return _element(_ACTED[action.kind], given, _element("Arguments", {}, arguments) if arguments else ())


def _element(name: str, given: dict[str, str | None], inner: Iterable[str]) -> Lines:
    """An element with others inside, one line each."""
    lines = list(inner)
    if not lines:
        yield f"<{name}{_attributes(given)}/>"
        return
    yield f"<{name}{_attributes(given)}>"
    yield from (_INDENT + line for line in lines)
    yield f"</{name}>"


def _text(name: str, text: str, given: dict[str, str | None] | None = None) -> Lines:
    """An element with text inside, all of which counts."""
    yield f"<{name}{_attributes(given or {})}>{text_value(text)}</{name}>"


def _attributes(given: dict[str, str | None]) -> str:
    return "".join(f' {name}="{attribute_value(value)}"' for name, value in given.items() if value is not None)
