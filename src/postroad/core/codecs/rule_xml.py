"""Rules in XML: ``<Rule>`` in the namespace ``urn:postroad:rules:1``, several of them in ``<Rules>``.

The elements are those of the JSON form, under the XML names of operators and actions; ``rule_xml_writer`` writes them.
Rule: an unknown element is refused with its line. Whether a rule makes sense is not checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from postroad.core.codecs.lexical import read_boolean
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.xml import Tree, parse
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
from postroad.errors import Refused

NAMESPACE = "urn:postroad:rules:1"

COMBINING = {operator.value.upper(): operator for operator in Combining}
COMPARING = {operator.value: operator for operator in Comparing}
WHERE = {where.value.capitalize(): where for where in MessageSection}
ACTIONS = {kind.value[0].upper() + kind.value[1:]: kind for kind in ActionKind}

_Choice = TypeVar("_Choice", RuleRole, ValueType)


def decode_rules(body: bytes, service_gcid: str) -> tuple[Rule, ...]:
    """The rules of a document, in their order, as rules of that service."""
    root = parse(body)
    name = _name(root)
    if name == "Rule":
        return (_rule(root, service_gcid, 0),)
    if name != "Rules":
        raise _fault(root, f"the root is {name}; use Rules or Rule in the namespace {NAMESPACE}")
    _attributes(root)
    return tuple(_rule(child, service_gcid, place) for place, child in enumerate(_children(root, "Rule")))


def _rule(element: Tree, service_gcid: str, place: int) -> Rule:
    given = _attributes(element, "name", "role", "enabled", "positions")
    condition: Condition | None = None
    actions: tuple[RuleAction, ...] = ()
    description = ""
    for child in _children(element, "Description", "Condition", "Actions", once=True):
        match _name(child):
            case "Description":
                description = _characters(child)
            case "Condition":
                _attributes(child)
                condition = _condition(_only_child(child))
            case "Actions":
                _attributes(child)
                actions = tuple(_action(action) for action in _children(child, *ACTIONS))
    if condition is None or "name" not in given:
        raise _fault(element, "a Rule has a name and a Condition")
    return Rule(
        service=service_gcid,
        name=given["name"],
        place=place,
        role=_chosen(element, "role", RuleRole, RuleRole.ANY),
        when=condition,
        then=actions,
        enabled=_flag(element, "enabled", True),
        description=description,
        positions=_positions(element, given.get("positions", "")),
    )


def _positions(element: Tree, text: str) -> tuple[tuple[RuleRole, int], ...]:
    """Return the positions that are written as ``sender=1 inTransit=3``."""
    found = []
    for one in text.split():
        role, _, position = one.partition("=")
        if (
            role not in (*RuleRole,)
            or role == RuleRole.ANY
            or not position.isdecimal()
            or not 1 <= int(position) <= 10_000
        ):
            raise _fault(element, f"{one[:40]!r} is not a position; write sender=1, recipient=2 or inTransit=3")
        found.append((RuleRole(role), int(position)))
    return tuple(sorted(dict(found).items()))


def _condition(element: Tree) -> Condition:
    name = _name(element)
    if name in COMPARING:
        return _comparison(element, COMPARING[name])
    if name not in COMBINING:
        raise _fault(element, f"{name} is not an operator; use one of {', '.join((*COMBINING, *COMPARING))}")
    _attributes(element)
    inner = tuple(_condition(child) for child in _children(element, *COMBINING, *COMPARING))
    if COMBINING[name] is Combining.NOT and len(inner) != 1:
        raise _fault(element, "NOT takes exactly one condition; combine several by AND, OR, XOR inside it")
    return Combination(operator=COMBINING[name], conditions=inner)


def _comparison(element: Tree, operator: Comparing) -> ValueComparison:
    _attributes(element, "as")
    place: ValueLocation | None = None
    other: ValueLocation | None = None
    values: list[str] = []
    content = ""
    for child in _children(element, *WHERE, "Value", "Content", "Other"):
        match _name(child):
            case "Value":
                values.append(_characters(child))
            case "Content" if not content:
                content = _characters(child)
            case "Other" if other is None:
                _attributes(child)
                other = _place(_only_child(child))
            case where if where in WHERE and place is None:
                place = _place(child)
            case twice:
                raise _fault(child, f"{twice} must be in a comparison once")
    if place is None:
        raise _fault(element, f"{operator.value} needs one of {', '.join(WHERE)}")
    kind = _chosen(element, "as", ValueType, ValueType.STRING)
    return ValueComparison(
        operator=operator, place=place, type=kind, values=tuple(values), content=content, other=other
    )


def _place(element: Tree) -> ValueLocation:
    where = WHERE.get(_name(element))
    if where is None:
        raise _fault(element, f"{_name(element)} is not a place; use one of {', '.join(WHERE)}")
    path = "item" if where is MessageSection.HEADER else "path"
    given = _attributes(element, path, *(() if where is MessageSection.HEADER else ("document", "schema")))
    if path not in given:
        raise _fault(element, f"{_name(element)} has the attribute {path}")
    namespaces = [_namespace(child) for child in _children(element, "Namespace")]
    _once(element, [prefix for prefix, _ in namespaces])
    return ValueLocation(
        where=where,
        path=given[path],
        document=given.get("document", ""),
        namespaces=tuple(namespaces),
        schema=given.get("schema", ""),
    )


def _namespace(element: Tree) -> tuple[str, str]:
    given = _attributes(element, "prefix", "uri")
    if len(given) < 2 or len(element) or (element.text or "").strip():
        raise _fault(element, "a Namespace has the attributes prefix and uri, and no content")
    return given["prefix"], given["uri"]


def _action(element: Tree) -> RuleAction:
    kind = ACTIONS[_name(element)]
    if kind not in INCLUDING:
        given = _attributes(element, *(("topic",) if kind is ActionKind.CHANGE_TOPIC else ()))
        list(_children(element))
        return RuleAction(kind=kind, topic=given.get("topic", ""))
    given = _attributes(element, "service", "topic", "pays", "isolate", "errors")
    if given.get("errors", "show") not in ("show", "absorb"):
        raise _fault(element, "errors is show or absorb")
    return RuleAction(
        kind=kind,
        service=given.get("service", ""),
        arguments=tuple(_arguments(element)),
        topic=given.get("topic", ""),
        pays=_flag(element, "pays", False),
        isolates=_flag(element, "isolate", False),
        absorbs=given.get("errors") == "absorb",
    )


def _arguments(element: Tree) -> Iterator[Argument]:
    for arguments in _children(element, "Arguments", once=True):
        _attributes(arguments)
        _once(arguments, [argument.get("name", "") for argument in arguments])
        for argument in _children(arguments, "Argument"):
            given = _attributes(argument, "name")
            yield Argument(given.get("name", ""), _characters(argument, "name"))


def _once(element: Tree, names: list[str]) -> None:
    """Refuse a repeated name, which the other formats of rules cannot express."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise _fault(element, f"{twice[:80]!r} is repeated in {_name(element)}; remove one")


def _fault(element: Tree, detail: str) -> Refused:
    return malformed(detail, f"line {element.sourceline}")


def _name(element: Tree) -> str:
    """The local name, or the whole one when it is in another namespace, so that it fits nothing."""
    return element.tag.removeprefix(f"{{{NAMESPACE}}}") if element.tag.startswith("{") else f"{{}}{element.tag}"


def _attributes(element: Tree, *known: str) -> dict[str, str]:
    given = {str(name): str(value) for name, value in element.attrib.items()}
    unknown = [name for name in given if name not in known]
    if unknown:
        allowed = f"use {', '.join(known)}" if known else "it has none"
        raise _fault(element, f"{_name(element)} has no attribute {unknown[0][:80]}; {allowed}")
    return given


def _children(element: Tree, *known: str, once: bool = False) -> Iterator[Tree]:
    """The child elements, which must be known ones with nothing but white space between them."""
    if any((text or "").strip() for text in (element.text, *(child.tail for child in element))):
        raise _fault(element, f"no text is allowed in {_name(element)}")
    seen: set[str] = set()
    for child in element:
        name = _name(child)
        if name not in known or (once and name in seen):
            what = "is repeated" if name in known else "is not known there"
            allowed = f"; use {', '.join(known)}" if known else ""
            raise _fault(child, f"{name[:80]} {what} in {_name(element)}{allowed}")
        seen.add(name)
        yield child


def _only_child(element: Tree) -> Tree:
    children = list(_children(element, *COMBINING, *COMPARING, *WHERE))
    if len(children) != 1:
        raise _fault(element, f"exactly one element is required in {_name(element)}")
    return children[0]


def _characters(element: Tree, *attributes: str) -> str:
    _attributes(element, *attributes)
    if len(element):
        raise _fault(element, f"only text is allowed in {_name(element)}; write markup as text, in a CDATA section")
    return element.text or ""


def _flag(element: Tree, name: str, usual: bool) -> bool:
    text = element.get(name)
    return usual if text is None else read_boolean(text, f"line {element.sourceline}")


def _chosen(element: Tree, name: str, kind: type[_Choice], usual: _Choice) -> _Choice:
    text = element.get(name, usual.value)
    if text not in [choice.value for choice in kind]:
        raise _fault(element, f"{name} is one of {', '.join(choice.value for choice in kind)}")
    return kind(text)
