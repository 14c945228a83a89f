"""What members could try with the query of a binding: without walls each gets hold of a secret, or visits the secret page."""

from __future__ import annotations

from tests.faults.sandbox_attacks import (
    OWN_CONFIGURATION,
    Attack,
    Surroundings,
    readings,
    selecting,
    stylesheet,
    with_entity,
)

_CONFIGURATION = '<configuration xmlns="http://saxon.sf.net/ns/configuration" edition="HE"/>'


def literal(text: str) -> str:
    """The text as a string literal of XQuery."""
    return "'" + text.replace("&", "&amp;").replace("'", "''") + "'"


def transforming(inner: str, options: str = "") -> str:
    """A query that runs a stylesheet."""
    return f"transform(map{{'stylesheet-text': {literal(inner)}, 'source-node': .{options}}})?output/string()"


def with_own_configuration(inner: str) -> str:
    name = "QName('http://saxon.sf.net/', 'configuration')"
    return transforming(inner, f", 'vendor-options': map{{{name}: parse-xml({literal(_CONFIGURATION)})}}")


def query_attacks(at: Surroundings) -> list[Attack]:
    read = readings(at)
    stolen = with_entity(stylesheet("<o>&stolen;</o>"), at.text)
    queries = {
        **read,
        "constructed": f"<a>{{ {read['doc']} }}</a>",
        "in a function": f"declare function local:f() {{ {read['unparsed-text']} }}; local:f()",
        "in a function of a variable": f"declare function local:f() {{ $msg ! {read['unparsed-text']} }}; local:f()",
        "in a global variable": f"declare variable $x := {read['unparsed-text']}; $x",
        "in a default value": f"declare variable $x external := {read['json-doc']}; $x",
        "in a name put together": "function-lookup(QName('http://www.w3.org/2005/xpath-functions', 'unparsed' || '-text'), 1)"
        f"('{at.text}')",
        "told by an error": f"error((), {read['unparsed-text']})",
        "module": f"import module namespace m = 'urn:m' at '{at.folder.as_uri()}/secret.xq'; $m:s",
        "stylesheet": transforming(selecting(read["unparsed-text"])),
        "entity in a stylesheet": transforming(stolen),
        f"{OWN_CONFIGURATION} unparsed-text": with_own_configuration(selecting(read["unparsed-text"])),
        f"{OWN_CONFIGURATION} page": with_own_configuration(selecting(read["page by doc"])),
        f"{OWN_CONFIGURATION} entity": with_own_configuration(stolen),
    }
    return [
        *(Attack(name, "query", query) for name, query in queries.items()),
        Attack("entity in the message", "query", "string(.)", with_entity("<r>&stolen;</r>", at.text)),
        Attack("DTD of the message", "query", "string(.)", f'<!DOCTYPE r SYSTEM "{at.page}"><r/>'),
    ]
