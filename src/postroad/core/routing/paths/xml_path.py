"""Paths into XML documents: a small, bounded part of XPath, with XPath's meaning.

``/po:Order/po:Line[2]/@sku``, ``//po:Line[po:Kind='spare']/po:Price``, ``/Order/Note/text()``. Absolute; children,
descendants, attributes and texts; names, ``prefix:*`` and ``*``; positions, and predicates that compare a child's or
an attribute's characters with a literal. A name without a prefix is in no namespace.

Rule: a path costs at most one walk through the document for each of its steps and predicates. So no axis leads back
up, and only few steps may descend through the whole document. ``xml_walk`` evaluates paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from postroad.core.codecs.lexical import NOT_XML
from postroad.errors import Refused

PATH_CHARS = 1_000
MAX_STEPS = 50
MAX_DESCENDANTS = 3
MAX_NAMESPACES = 50
LAST = -1

_NAME = r"[^\W\d][\w.·-]*"
_PREFIX = re.compile(_NAME)
_TEST = rf"(?:(?P<prefix>{_NAME}):)?(?P<local>{_NAME}|\*)"
_STEP = re.compile(rf"(?P<slashes>//?)(?:(?P<text>text\(\))|(?P<at>@)?{_TEST})")
_POSITION = re.compile(r"\[\s*(?:(?P<number>[1-9][0-9]{0,5})|last\(\))\s*\]")
_EQUALITY = re.compile(rf"""\[\s*(?P<at>@)?{_TEST}\s*=\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\]""")
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


class Finds(Enum):
    ELEMENTS = "elements"
    ATTRIBUTES = "attributes"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equality:
    """A predicate such as ``[@kind='spare']`` or ``[po:Kind='spare']``."""

    attribute: bool
    name: str
    literal: str


Predicate = int | Equality  # a number is a position; LAST is the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    finds: Finds
    descends: bool
    name: str  # in lxml's notation: {namespace}local, {namespace}*, local or *
    predicates: tuple[Predicate, ...] = ()

    @property
    def counts(self) -> bool:
        return any(isinstance(predicate, int) for predicate in self.predicates)


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlPath:
    steps: tuple[PathStep, ...]  # the last one may select attributes or texts, all others select elements

    @property
    def finds(self) -> Finds:
        return self.steps[-1].finds

    @property
    def walks(self) -> int:
        """Return how many extra walks the path needs: one for each // and each predicate."""
        return sum(step.descends + len(step.predicates) for step in self.steps)


def read_xml_path(text: str, namespaces: Mapping[str, str]) -> XmlPath:
    """Parse a path, or refuse it with the position of the error."""
    if len(text) > PATH_CHARS:
        raise bad_path(f"the path has {len(text)} characters; at most {PATH_CHARS} are allowed")
    _check_namespaces(namespaces)
    steps: list[PathStep] = []
    position = 0
    while position < len(text):
        step, position = _read_step(text, position, namespaces)
        steps.append(step)
    _check_steps(steps)
    return XmlPath(steps=tuple(steps))


def _check_namespaces(namespaces: Mapping[str, str]) -> None:
    if len(namespaces) > MAX_NAMESPACES:
        raise bad_path(f"{len(namespaces)} namespaces are declared; at most {MAX_NAMESPACES} are allowed")
    for prefix, uri in namespaces.items():
        if not _PREFIX.fullmatch(prefix) or prefix in ("xml", "xmlns"):
            raise bad_path(f"{prefix[:40]!r} cannot be declared as a prefix; use a name such as po")
        if not uri or len(uri) > PATH_CHARS or NOT_XML.search(uri):
            raise bad_path(f"the namespace of {prefix[:40]!r} needs 1 to {PATH_CHARS} characters")


def bad_path(detail: str) -> Refused:
    return Refused("rule.invalid", detail)


def _read_step(text: str, position: int, namespaces: Mapping[str, str]) -> tuple[PathStep, int]:
    found = _STEP.match(text, position)
    if found is None:
        raise bad_path(
            f"the path cannot be read at character {position + 1} ({text[position : position + 20]!r}); "
            "write it like /po:Order/po:Line[1]/@sku"
        )
    finds = Finds.TEXTS if found["text"] else Finds.ATTRIBUTES if found["at"] else Finds.ELEMENTS
    name = "" if found["text"] else _qualified(found, namespaces)
    position = found.end()
    predicates: list[Predicate] = []
    while finds is Finds.ELEMENTS and text.startswith("[", position):
        predicate, position = _read_predicate(text, position, namespaces)
        predicates.append(predicate)
    descends = found["slashes"] == "//"
    return PathStep(finds=finds, descends=descends, name=name, predicates=tuple(predicates)), position


def _read_predicate(text: str, position: int, namespaces: Mapping[str, str]) -> tuple[Predicate, int]:
    counted = _POSITION.match(text, position)
    if counted is not None:
        return int(counted["number"] or LAST), counted.end()
    compared = _EQUALITY.match(text, position)
    if compared is None or compared["local"] == "*":
        raise bad_path(
            f"the predicate at character {position + 1} cannot be read; "
            "use [2], [last()], [@name='value'] or [child='value']"
        )
    literal = compared["single"] if compared["single"] is not None else compared["double"]
    name = _qualified(compared, namespaces)
    return Equality(attribute=compared["at"] is not None, name=name, literal=literal), compared.end()


def _qualified(found: re.Match[str], namespaces: Mapping[str, str]) -> str:
    prefix, local = found["prefix"], found["local"]
    if prefix is None:
        return local
    namespace = XML_NAMESPACE if prefix == "xml" else namespaces.get(prefix)
    if namespace is None:
        raise bad_path(f"the prefix {prefix[:40]!r} is not declared; declare it under namespaces")
    return f"{{{namespace}}}{local}"


def _check_steps(steps: list[PathStep]) -> None:
    if not steps:
        raise bad_path("the path is empty")
    if len(steps) > MAX_STEPS:
        raise bad_path(f"the path has {len(steps)} steps; at most {MAX_STEPS} are allowed")
    if sum(step.descends for step in steps) > MAX_DESCENDANTS:
        raise bad_path(f"the path uses // more than {MAX_DESCENDANTS} times; write the steps between")
    if any(step.finds is not Finds.ELEMENTS for step in steps[:-1]):
        raise bad_path("an attribute or text() can only be at the end of a path")
