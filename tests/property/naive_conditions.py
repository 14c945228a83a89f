"""Conditions judged the long way: a second evaluator, written from the specification alone, over plain Python data.

It shares no code with the product and no thought about speed. Documents are nested lists, paths are lists of steps, and every
answer is found by looking at everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from xml.sax.saxutils import escape, quoteattr


@dataclass(eq=False)
class Element:
    name: tuple[str, str]  # namespace and local name
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)  # never two texts in a row

    @property
    def children(self) -> list[Element]:
        return [child for child in self.inside if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """Its own text, without that of the elements inside."""
        return "".join(part for part in self.inside if isinstance(part, str))

    def markup(self) -> str:
        namespace, local = self.name
        given = "".join(f" {name}={quoteattr(value)}" for name, value in self.attributes.items())
        inner = "".join(part.markup() if isinstance(part, Element) else escape(part) for part in self.inside)
        return f"<{local} xmlns={quoteattr(namespace)}{given}>{inner}</{local}>"

    def meaning(self) -> Any:
        """What two equal contents have in common: white space between elements does not count."""
        parts = [part for part in self.inside if isinstance(part, Element) or not self.children or part.strip(" \t\n")]
        return [
            (part.name, sorted(part.attributes.items()), part.meaning()) if isinstance(part, Element) else part
            for part in parts
        ]


@dataclass(frozen=True)
class Step:
    """One step of an XML path: ``kind`` is element, attribute or text."""

    descends: bool
    kind: str
    namespace: str | None  # None means any
    local: str | None
    predicates: tuple[Any, ...] = ()  # ("position", n), ("last",), ("attribute", name, text), ("child", name, text)

    def written(self, prefixes: dict[str, str]) -> str:
        slash = "//" if self.descends else "/"
        if self.kind == "text":
            return f"{slash}text()"
        at = "@" if self.kind == "attribute" else ""
        prefix = f"{prefixes[self.namespace]}:" if self.namespace else ""
        return slash + at + prefix + (self.local or "*") + "".join(map(_written_predicate, self.predicates))


def _written_predicate(predicate: Any) -> str:
    match predicate:
        case ("position", number):
            return f"[{number}]"
        case ("last",):
            return "[last()]"
        case ("attribute", name, text):
            return f"[@{name}='{text}']"
        case (_, name, text):
            return f'[ {name} = "{text}" ]'
    raise AssertionError(predicate)


def follow(root: Element, steps: list[Step]) -> list[Any]:
    """The elements, attribute values or texts that an XML path leads to."""
    nodes: list[Any] = [Element(name=("", ""), inside=[root])]
    for step in steps:
        contexts = _unique([inner for node in nodes for inner in _selves_and_below(node)]) if step.descends else nodes
        if step.kind == "element":
            nodes = _unique([child for context in contexts for child in _chosen(context, step)])
        elif step.kind == "attribute":
            return [
                value
                for context in contexts
                for name, value in context.attributes.items()
                if step.local in (None, name)
            ]
        else:
            return [part for context in contexts for part in context.inside if isinstance(part, str)]
    return nodes


def _unique(nodes: list[Any]) -> list[Any]:
    return list({id(node): node for node in nodes}.values())


def _selves_and_below(node: Element) -> list[Element]:
    return [node, *(inner for child in node.children for inner in _selves_and_below(child))]


def _chosen(context: Element, step: Step) -> list[Element]:
    found = [
        child
        for child in context.children
        if (step.namespace is None or child.name[0] == step.namespace) and step.local in (None, child.name[1])
    ]
    for predicate in step.predicates:
        found = [child for number, child in enumerate(found, 1) if _passes(child, number, len(found), predicate)]
    return found


def _passes(child: Element, number: int, count: int, predicate: Any) -> bool:
    match predicate:
        case ("position", wanted):
            return bool(number == wanted)
        case ("last",):
            return number == count
        case ("attribute", name, text):
            return bool(child.attributes.get(name) == text)
        case (_, name, text):
            return any(
                inner.name == ("", name) and not inner.children and inner.text == text for inner in child.children
            )
    raise AssertionError(predicate)


def follow_json(root: Any, steps: list[tuple[str, Any]]) -> list[Any]:
    """The values that a JSON path of (kind, name or number) steps leads to."""
    nodes = [root]
    for kind, what in steps:
        if kind == "below":
            containers = _unique([inner for node in nodes for inner in _containers(node)])
            nodes = [one[what] for one in containers if isinstance(one, dict) and what in one]
        elif kind == "name":
            nodes = [node[what] for node in nodes if isinstance(node, dict) and what in node]
        elif kind == "number":
            nodes = [node[what] for node in nodes if isinstance(node, list) and what < len(node)]
        else:
            nodes = [member for node in nodes for member in _members(node)]
    return nodes


def _members(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []


def _containers(node: Any) -> list[Any]:
    if not isinstance(node, (dict, list)):
        return []
    return [node, *(inner for member in _members(node) for inner in _containers(member))]


# ---- judging ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """Character data, or what a content means; never both."""

    text: str | None = None
    content: Any = None


def as_type(text: str, kind: str) -> Any:
    if kind == "string":
        return text
    text = text.strip(" \t\r\n")
    if kind == "number":
        return Fraction(text) if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def judge(operator: str, kind: str, nodes: list[Node], wanted: list[Node]) -> bool:
    """Whether an operator holds between what is there and what it is compared with."""
    if operator == "exists":
        return bool(nodes)
    if not nodes or not wanted:
        return False
    pairs = [(node, other) for node in nodes for other in wanted]
    if operator in ("equals", "equalsOneOf"):
        return any(_equal(node, other, kind) for node, other in pairs)
    if operator == "notEquals":
        return not any(_equal(node, other, kind) for node, other in pairs)
    return any(_ordered(operator, node, other, kind) for node, other in pairs)


def _equal(node: Node, other: Node, kind: str) -> bool:
    if node.text is None or other.text is None:
        return kind == "string" and node.text is None and other.text is None and bool(node.content == other.content)
    value = as_type(node.text, kind)
    return value is not None and bool(value == as_type(other.text, kind))


def _ordered(operator: str, node: Node, other: Node, kind: str) -> bool:
    if node.text is None or other.text is None:
        return False
    value, than = as_type(node.text, kind), as_type(other.text, kind)
    if value is None or than is None:
        return False
    return bool(value < than) if operator == "lessThan" else bool(value > than)


def combine(operator: str, answers: list[bool]) -> bool:
    match operator:
        case "and":
            return all(answers)
        case "or":
            return any(answers)
        case "xor":
            return len([answer for answer in answers if answer]) % 2 == 1
    return not answers[0]
