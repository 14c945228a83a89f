"""The prolog of a query: namespaces and external variables.

Rule: a declaration that could change what the rest means (functions, modules, variables with values, options) makes the
query unreadable here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from postroad.core.exchange.query.scanner import NAME, Scanner

_TYPE = re.compile(r"(?:xs:[A-Za-z]+|(?:item|document-node|node)\(\))[?*+]?")
_VERSION = re.compile(r'xquery\s+version\s+(?:"[^"]*"|\'[^\']*\')(?:\s+encoding\s+(?:"[^"]*"|\'[^\']*\'))?\s*;')

FN = "http://www.w3.org/2005/xpath-functions"
XS = "http://www.w3.org/2001/XMLSchema"


@dataclass(slots=True, kw_only=True)
class Prolog:
    namespaces: dict[str, str] = field(
        default_factory=lambda: {
            "xml": "http://www.w3.org/XML/1998/namespace",
            "xs": XS,
            "xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "fn": FN,
            "local": "http://www.w3.org/2005/xquery-local-functions",
        }
    )
    element_namespace: str = ""
    variables: dict[str, str] = field(default_factory=dict)  # the type each is declared with, or nothing


def read_prolog(scanner: Scanner) -> Prolog:
    prolog = Prolog()
    if scanner.looks_like(_VERSION):
        scanner.match(_VERSION, "a version")
    while scanner.word("declare"):
        if scanner.words("default", "element", "namespace"):
            prolog.element_namespace = _string(scanner)
        elif scanner.word("namespace"):
            prefix = scanner.match(NAME, "a prefix").group()
            scanner.expect("=")
            prolog.namespaces[prefix] = _string(scanner)
        elif scanner.word("variable"):
            _read_variable(scanner, prolog)
        else:
            raise scanner.unreadable("this declaration needs the engine")
        scanner.expect(";")
    if scanner.words("import", "module") or scanner.words("import", "schema"):
        raise scanner.unreadable("imports need the engine")
    return prolog


def _string(scanner: Scanner) -> str:
    text = scanner.string()
    if text is None:
        raise scanner.unreadable("a string is expected")
    return text


def _read_variable(scanner: Scanner, prolog: Prolog) -> None:
    scanner.expect("$")
    name = scanner.match(NAME, "a name").group()
    declared = scanner.match(_TYPE, "a simple type").group() if scanner.word("as") else ""
    if not scanner.word("external"):
        raise scanner.unreadable("a variable with a value needs the engine")
    prolog.variables[name] = declared
