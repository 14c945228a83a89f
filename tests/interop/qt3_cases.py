"""The W3C's suite as cases for bindings: a query, the message it is about, and whether the message goes.

Reads a checkout of https://github.com/w3c/qt3tests. Rule: a case that cannot be asked of a binding is left out with a
reason that can be counted, never silently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element, parse

from tests.interop.qt3_expected import NAMESPACE, NO, NOT_SAID, Permitted, errors_in, is_condition, permitted

SETS = (
    "prod-AxisStep", "prod-PathExpr", "prod-StepExpr", "prod-NameTest", "prod-NodeTest", "prod-Predicate",
    "prod-GeneralComp", "prod-ValueComp", "prod-OrExpr", "prod-QuantifiedExpr", "prod-IfExpr", "prod-WhereClause",
    "prod-ForClause", "prod-LetClause", "prod-ReturnClause", "prod-ParenthesizedExpr", "prod-ContextItemExpr",
    "prod-NamespaceDecl", "prod-DefaultNamespaceDecl", "prod-EQName", "prod-Literal", "prod-Comment",
    "fn-contains", "fn-starts-with", "fn-ends-with", "fn-matches", "fn-not", "fn-exists", "fn-empty", "fn-count",
    "fn-boolean", "fn-true", "fn-false", "fn-string", "fn-number", "fn-string-length", "fn-data", "fn-local-name", "fn-name",
    "fn-position", "fn-last", "fn-root",
    "op-numeric-equal", "op-numeric-less-than", "op-numeric-greater-than", "op-string-equal", "op-string-less-than",
    "op-string-greater-than", "op-boolean-equal", "op-date-equal", "op-date-less-than", "op-dateTime-equal",
)  # fmt: skip
"""By the names in the catalogue; what follows a dot there, such as an axis, belongs to them."""

NO_DOCUMENT = b"<message/>"  # for cases that need none
_FEATURES = frozenset({"higherOrderFunctions", "infoset-dtd", "xpath-1.0-compatibility"})
_OWN_VERSION = re.compile(r"XQ(10\+|30\+|31\+?)")
_UNTOLD_ELEMENTS = {
    "schema": "needs a schema",
    "collection": "reads a collection",
    "resource": "reads a resource",
    "param": "is given a variable",
    "decimal-format": "is given a decimal format",
    "static-base-uri": "is given a base address",
    "collation": "is given a collation",
    "function-library": "is given functions",
    "context-item": "is about something else than a document",
}
_OTHERWISE_HERE = {
    "XPDY0002": "is about there being no message",
    "XPST0008": "is about a variable that is not declared, which is a header item here",
}


class LeftOut(Exception):
    """Why a case is not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    query: str
    document: bytes
    declared: str = ""  # what its environment declares in front of the query
    permitted: Permitted
    is_condition: bool = False  # whether the result is true or false, and nothing else

    @property
    def text(self) -> str:
        return self.declared + self.query

    def but(self, *, suffix: str, query: str, permitted: Permitted, document: bytes | None = None) -> Case:
        about = self.document if document is None else document
        return replace(self, name=self.name + suffix, query=query, document=about, permitted=permitted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    cases: tuple[Case, ...]
    left_out: dict[str, str]  # case: reason


def read_suite(folder: Path) -> Suite:
    catalogue = _Scene(folder / "catalog.xml", {})
    cases, left_out = [], {}
    for test_set in catalogue.root.iterfind(f"{NAMESPACE}test-set"):
        if not _is_selected(test_set.get("name", "")):
            continue
        scene = _Scene(folder / test_set.get("file", ""), catalogue.environments)
        for element in scene.root.iterfind(f"{NAMESPACE}test-case"):
            name = f"{test_set.get('name')}/{element.get('name')}"
            try:
                cases.append(scene.case(name, element))
            except LeftOut as why:
                left_out[name] = str(why)
    return Suite(cases=tuple(cases), left_out=left_out)


def _is_selected(name: str) -> bool:
    return name.partition(".")[0] in SETS


@dataclass(frozen=True, slots=True)
class _Environment:
    element: Element
    folder: Path  # that its files are relative to


class _Scene:
    """A file of the suite: its cases, and the environments that they may refer to."""

    def __init__(self, path: Path, shared: dict[str, _Environment]) -> None:
        self.folder = path.parent
        self.root = parse(path).getroot()
        own = self.root.iterfind(f"{NAMESPACE}environment")
        self.environments = shared | {one.get("name", ""): _Environment(one, self.folder) for one in own}

    def case(self, name: str, element: Element) -> Case:
        for dependency in [*self.root.iterfind(f"{NAMESPACE}dependency"), *element.iterfind(f"{NAMESPACE}dependency")]:
            _check_dependency(dependency)
        result = element.find(f"{NAMESPACE}result")
        expected = NOT_SAID if result is None else permitted(result)
        if result is None or expected == NOT_SAID:
            raise LeftOut("its result does not say whether the message goes")
        environment = self._environment(element)
        if expected == NO:
            _check_errors(errors_in(result))
        return Case(
            name=name,
            query=_query_of(element),
            document=_document_of(environment),
            declared=_declarations(environment),
            permitted=expected,
            is_condition=is_condition(result),
        )

    def _environment(self, element: Element) -> _Environment | None:
        own = element.find(f"{NAMESPACE}environment")
        if own is None:
            return None
        if "ref" not in own.attrib:
            return _Environment(own, self.folder)
        if own.get("ref") == "empty":
            raise LeftOut("is about there being no message")
        return self.environments[own.get("ref", "")]


def _check_dependency(dependency: Element) -> None:
    kind, value = dependency.get("type", ""), dependency.get("value", "")
    wanted = dependency.get("satisfied", "true") == "true"
    if kind == "spec":
        if any(map(_OWN_VERSION.fullmatch, value.split())) != wanted:
            raise LeftOut("is about another language or version than XQuery 3.1")
    elif kind != "feature" or (value in _FEATURES) != wanted:
        raise LeftOut(f"depends on {kind} {value}")


def _check_errors(codes: frozenset[str]) -> None:
    for code, reason in _OTHERWISE_HERE.items():
        if code in codes:
            raise LeftOut(reason)


def _query_of(element: Element) -> str:
    test = element.find(f"{NAMESPACE}test")
    if test is None or "file" in test.attrib or element.find(f"{NAMESPACE}module") is not None:
        raise LeftOut("has its query in files")
    if not (test.text or "").strip():
        raise LeftOut("has no query, which is a binding that needs none")
    return test.text or ""


def _declarations(environment: _Environment | None) -> str:
    namespaces = [] if environment is None else environment.element.findall(f"{NAMESPACE}namespace")
    return "".join(map(_declaration, namespaces))


def _declaration(namespace: Element) -> str:
    prefix, uri = namespace.get("prefix", ""), namespace.get("uri", "")
    return f"declare namespace {prefix} = '{uri}'; " if prefix else f"declare default element namespace '{uri}'; "


def _document_of(environment: _Environment | None) -> bytes:
    if environment is None:
        return NO_DOCUMENT
    for name, reason in _UNTOLD_ELEMENTS.items():
        if environment.element.find(f"{NAMESPACE}{name}") is not None:
            raise LeftOut(reason)
    sources = list(environment.element.iterfind(f"{NAMESPACE}source"))
    if any(source.get("role") != "." or source.get("validation", "skip") != "skip" for source in sources):
        raise LeftOut("is about several documents, or a validated one")
    return _content(sources[0], environment.folder) if sources else NO_DOCUMENT


def _content(source: Element, folder: Path) -> bytes:
    path = folder / source.get("file", "")
    if not path.is_file():
        raise LeftOut("its document is not in the checkout")
    content = path.read_bytes()
    if b"<!DOCTYPE" in content:
        raise LeftOut("its document has a DTD, which messages may not have")
    return content
