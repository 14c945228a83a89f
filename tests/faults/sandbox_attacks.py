"""What members could try with a stylesheet or a query: without walls each gets hold of a secret, or leaves a file.

``open_engine`` runs all of them in Saxon without walls, where they must succeed: an attack that fails there proves nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

SECRET = "TOP-SECRET"
ENVIRONMENT_VARIABLE = "POSTROAD_TEST_SECRET"
OWN_CONFIGURATION = "own configuration"

_HEAD = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
    'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:my="urn:my" exclude-result-prefixes="#all">'
)
_CONFIGURATION = '<configuration xmlns="http://saxon.sf.net/ns/configuration" edition="HE"/>'


class Surroundings(NamedTuple):
    """What the attacks aim at: a folder with secret files, which must gain none, and a server with a secret page."""

    folder: Path
    server: str

    @property
    def text(self) -> str:
        return (self.folder / "secret.txt").as_uri()

    @property
    def xml(self) -> str:
        return (self.folder / "secret.xml").as_uri()

    @property
    def json(self) -> str:
        return (self.folder / "secret.json").as_uri()

    @property
    def stylesheet(self) -> str:
        return (self.folder / "secret.xsl").as_uri()

    @property
    def page(self) -> str:
        return f"{self.server}/secret.xml"

    @property
    def loot(self) -> str:
        return (self.folder / "loot.xml").as_uri()

    def prepare(self) -> None:
        self.folder.chmod(0o755)  # a worker that became nobody must be able to read it, if it could open it
        (self.folder / "secret.txt").write_text(SECRET)
        (self.folder / "secret.xml").write_text(f"<s>{SECRET}</s>")
        (self.folder / "secret.json").write_text(f'"{SECRET}"')
        (self.folder / "secret.xsl").write_text(stylesheet(SECRET))
        (self.folder / "secret.xq").write_text(f"module namespace m = 'urn:m'; declare variable $m:s := '{SECRET}';")


class Attack(NamedTuple):
    name: str
    task: Literal["transform", "query"]
    source: str
    document: str = "<r/>"


def stylesheet(body: str, declarations: str = "") -> str:
    """A stylesheet that makes ``body`` of any document."""
    return f'{_HEAD}{declarations}<xsl:template match="/">{body}</xsl:template></xsl:stylesheet>'


def selecting(expression: str, declarations: str = "") -> str:
    """A stylesheet that makes the value of an XPath expression of any document."""
    return stylesheet(f"<o><xsl:sequence select={quoteattr(expression)}/></o>", declarations)


def with_entity(text: str, address: str) -> str:
    """``text``, an XML document without a declaration, with an entity ``stolen`` from that address."""
    return f'<!DOCTYPE any [<!ENTITY stolen SYSTEM "{address}">]>{text}'


def nested(inner: str, options: str = "") -> str:
    """A stylesheet that runs another by ``transform()``."""
    call = f"transform(map{{'stylesheet-text': string($inner), 'source-node': . {options}}})?output"
    variable = f"<xsl:variable name='inner'>{escape(inner)}</xsl:variable>"
    return stylesheet(f"{variable}<o><xsl:sequence select={quoteattr(call)}/></o>")


def with_own_configuration(inner: str) -> str:
    """The hole in Saxon's settings: a ``transform()`` that brings a configuration, in which reading is allowed again."""
    name = "QName('http://saxon.sf.net/', 'configuration')"
    return nested(inner, f", 'vendor-options': map{{{name}: parse-xml('{_CONFIGURATION}')}}")


def readings(at: Surroundings) -> dict[str, str]:
    """XPath expressions whose value has the secret in it; they serve in stylesheets and in queries."""
    folder = at.folder.as_uri()
    entity = with_entity("<a>", at.text) + "', codepoints-to-string(38), 'stolen;</a>"  # a query would read & itself
    return {
        "doc": f"doc('{at.xml}')/s/text()",
        "doc-available": f"if (doc-available('{at.xml}')) then '{SECRET}' else ()",
        "unparsed-text": f"unparsed-text('{at.text}')",
        "unparsed-text-lines": f"unparsed-text-lines('{at.text}')",
        "unparsed-text-available": f"if (unparsed-text-available('{at.text}')) then '{SECRET}' else ()",
        "json-doc": f"json-doc('{at.json}')",
        "collection": f"collection('{folder}?select=secret.xml')/s/text()",
        "uri-collection": f"if (exists(uri-collection('{folder}')[contains(., 'secret')])) then '{SECRET}' else ()",
        "page by doc": f"doc('{at.page}')/s/text()",
        "page by unparsed-text": f"unparsed-text('{at.page}')",
        "environment-variable": f"environment-variable('{ENVIRONMENT_VARIABLE}')",
        "transform of a file": f"transform(map{{'stylesheet-location': '{at.stylesheet}', 'source-node': .}})?output/string()",
        "entity in parse-xml": f"parse-xml(concat('{entity}'))/a/text()",
    }


def in_stylesheets(at: Surroundings) -> dict[str, str]:
    """Attacks that only a stylesheet can try."""
    write = f'<o><xsl:result-document href="{at.loot}"><x/></xsl:result-document></o>'
    read = f'<xsl:source-document href="{at.xml}"><xsl:copy-of select="."/></xsl:source-document>'
    evaluated = f'"{readings(at)["unparsed-text"]}"'
    stolen = stylesheet("<o>&stolen;</o>")
    return {
        "document": selecting(f"document('{at.xml}')/s/text()"),
        "source-document": stylesheet(f"<o>{read}</o>"),
        "include": f'{_HEAD}<xsl:include href="{at.stylesheet}"/></xsl:stylesheet>',
        "import": f'{_HEAD}<xsl:import href="{at.stylesheet}"/></xsl:stylesheet>',
        "result-document": stylesheet(write),
        "evaluate": stylesheet(f"<o><xsl:evaluate xpath={quoteattr(evaluated)}/></o>"),
        "entity in the stylesheet": with_entity(stolen, at.text),
        "entity in a nested stylesheet": nested(with_entity(stolen, at.text)),
        "name put together": selecting(
            f"function-lookup(QName('http://www.w3.org/2005/xpath-functions', 'unparsed' || '-text'), 1)('{at.text}')"
        ),
    }


def by_own_configuration(at: Surroundings) -> dict[str, str]:
    expressions = readings(at)
    read = {name: with_own_configuration(selecting(expressions[name])) for name in ("unparsed-text", "page by doc")}
    stolen = with_entity(stylesheet("<o>&stolen;</o>"), at.text)
    return {**read, "entity in the stylesheet": with_own_configuration(stolen)}


def attacks(at: Surroundings) -> list[Attack]:
    entity = with_entity("<r>&stolen;</r>", at.text)
    return [
        *(Attack(f"query: {name}", "query", text) for name, text in readings(at).items()),
        Attack(
            "query: module", "query", f"import module namespace m = 'urn:m' at '{at.folder.as_uri()}/secret.xq'; $m:s"
        ),
        *(Attack(f"stylesheet: {name}", "transform", selecting(text)) for name, text in readings(at).items()),
        *(Attack(f"stylesheet: {name}", "transform", text) for name, text in in_stylesheets(at).items()),
        *(Attack(f"{OWN_CONFIGURATION}: {name}", "transform", text) for name, text in by_own_configuration(at).items()),
        Attack("document: entity", "transform", selecting("string(.)"), entity),
        Attack("document: entity in a query", "query", "string(.)", entity),
        Attack("document: external DTD", "transform", selecting("string(.)"), f'<!DOCTYPE r SYSTEM "{at.page}"><r/>'),
    ]


def succeeded(at: Surroundings, output: str, visits: int) -> bool:
    """Whether something got out, was written, or was asked for over the network."""
    loot = at.folder / "loot.xml"
    written = loot.exists()
    loot.unlink(missing_ok=True)
    return SECRET in output or written or visits > 0
