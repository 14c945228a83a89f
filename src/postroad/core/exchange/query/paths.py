"""Reads the steps of paths, such as ``po:line``, ``*:line``, ``@sku``, ``text()``, ``child::line``, ``?sku``, and resolves names.

Rule: a step that leads elsewhere than down needs the engine.
"""

from __future__ import annotations

import re

from postroad.core.exchange.query.prolog import Prolog
from postroad.core.exchange.query.scanner import NAME_TEST, NC_NAME, Scanner
from postroad.core.exchange.query.syntax import ANY_NAME, QualifiedName, QueryStep, StepKind

_PLACE = re.compile(r"[0-9]{1,9}(?![\w.])")
_TEXT = re.compile(r"text\s*\(\s*\)")
_AXIS = re.compile(r"(child|attribute|descendant|self)\s*::\s*")
_OTHER_AXIS = re.compile(r"[a-z-]+\s*::")
_KIND_OR_CALL = re.compile(r"[\w.:·-]+\s*\((?!:)")
STEP_BEGINS = re.compile(r"\.(?![0-9])|@|\*|[^\W\d]")


def read_lookup(scanner: Scanner) -> QueryStep:
    """What follows a ?, which leads into a map or an array."""
    if scanner.take("*"):
        return QueryStep(kind=StepKind.KEY)
    if scanner.looks_like(_PLACE):
        place = scanner.match(_PLACE, "a place").group()
        return QueryStep(kind=StepKind.PLACE, name=QualifiedName(namespace="", local=place))
    return QueryStep(kind=StepKind.KEY, name=QualifiedName(namespace="", local=_read_key(scanner)))


def _read_key(scanner: Scanner) -> str:
    if not scanner.take("("):
        return scanner.match(NC_NAME, "a name").group()
    key = scanner.string()
    if key is None:
        raise scanner.unreadable("a lookup that is computed needs the engine")
    scanner.expect(")")
    return key


def read_step(scanner: Scanner, prolog: Prolog, *, descends: bool) -> QueryStep:
    """One step without its predicates."""
    if scanner.text.startswith("..", scanner.at):
        raise scanner.unreadable("steps upwards need the engine")
    if not descends and scanner.take("."):
        return QueryStep(kind=StepKind.SELF)
    axis = _read_axis(scanner)
    if scanner.looks_like(_TEXT) and axis in ("child", "descendant"):
        scanner.match(_TEXT, "text()")
        return QueryStep(kind=StepKind.TEXT, descends=descends or axis == "descendant")
    if scanner.looks_like(_KIND_OR_CALL):
        raise scanner.unreadable("a function or node test as a step needs the engine")
    if axis == "attribute":
        return QueryStep(kind=StepKind.ATTRIBUTE, descends=descends, name=_read_name(scanner, prolog, default=""))
    name = _read_name(scanner, prolog, default=prolog.element_namespace)
    return QueryStep(kind=StepKind.ELEMENT, descends=descends or axis == "descendant", name=name)


def _read_axis(scanner: Scanner) -> str:
    if scanner.take("@"):
        return "attribute"
    if scanner.looks_like(_AXIS):
        axis = scanner.match(_AXIS, "an axis").group(1)
        if axis == "self":
            raise scanner.unreadable("the axis self needs the engine")
        return axis
    if scanner.looks_like(_OTHER_AXIS) and not scanner.looks_like(re.compile(r"[\w.-]+:[^:]")):
        raise scanner.unreadable("this axis needs the engine")
    return "child"


def _read_name(scanner: Scanner, prolog: Prolog, *, default: str) -> QualifiedName:
    found = scanner.match(NAME_TEST, "a name")
    prefix, local = found["prefix"], None if found["local"] == "*" else found["local"]
    if prefix is None:
        return ANY_NAME if local is None else QualifiedName(namespace=default, local=local)
    if prefix == "*":
        return QualifiedName(namespace=None, local=local)
    if prefix not in prolog.namespaces:
        raise scanner.unreadable(f"the prefix {prefix} is not declared")
    return QualifiedName(namespace=prolog.namespaces[prefix], local=local)
