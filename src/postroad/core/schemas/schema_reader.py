"""Reads the text of a schema: its name, the elements it declares, and its references.

Content models are not checked here, but where the check can be cancelled. Rule: each text is read once, in a single pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urldefrag, urljoin

import msgspec

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.xml import Tree, parse
from postroad.core.model.asset import MAX_CONTENT_CHARS, AssetKind
from postroad.errors import Refused

XS = "{http://www.w3.org/2001/XMLSchema}"
XSD_REFERENCES = tuple(XS + name for name in ("include", "import", "redefine"))
CACHED_TEXTS = 256
LIMITS = WireLimits(body_bytes=MAX_CONTENT_CHARS)

_JSON_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")
_LITERAL = r"""(?:"([^"]*)"|'([^']*)')"""
_DTD_REFERENCE = re.compile(
    rf"<!ENTITY\s+%\s+[^\s%<>]+\s+(?:SYSTEM|PUBLIC\s+(?:\"[^\"]*\"|'[^']*'))\s+{_LITERAL}\s*>", re.DOTALL
)
_DTD_COMMENT = re.compile(
    r"<!--.*?(?:-->|\Z)", re.DOTALL
)  # an unclosed one extends to the end, so that it is scanned only once


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReference:
    """A reference from a schema to another: by location, by namespace, or both."""

    location: str = ""
    namespace: str = ""
    line: int = 0
    by: str = ""  # element or keyword of the reference


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDescription:
    identity: str = ""  # the target namespace, or $id
    roots: frozenset[str] = frozenset()  # global elements, as {namespace}name
    references: tuple[SchemaReference, ...] = ()


@lru_cache(maxsize=CACHED_TEXTS)
def read_text(kind: AssetKind, text: str) -> SchemaDescription:
    """Return the description of a schema; refused with ``schema.invalid`` if the text cannot be parsed."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused("schema.invalid", "the text is not Unicode; send it in UTF-8") from None
    return _READERS[kind](text)


# ---- XML Schema ------------------------------------------------------------------------------------------------------


def _read_xsd(text: str) -> SchemaDescription:
    root = _parsed(text)
    namespace = root.get("targetNamespace", "")
    prefix = f"{{{namespace}}}" if namespace else ""
    roots = frozenset(prefix + node.get("name", "") for node in root.iterchildren(XS + "element"))
    return SchemaDescription(identity=namespace, roots=roots, references=tuple(map(_reference, list_references(root))))


def _parsed(text: str) -> Tree:
    try:
        root = parse(text.encode(), LIMITS)
    except Refused as refusal:
        raise Refused("schema.invalid", refusal.detail, pointer=refusal.pointer) from None
    if root.tag != XS + "schema":
        raise Refused("schema.invalid", "this is not an XML Schema; its root must be xs:schema")
    if (newer := next(root.iterchildren(XS + "override"), None)) is not None:
        detail = "xs:override is of XML Schema 1.1, and this network validates by 1.0; use xs:redefine"
        raise Refused("schema.invalid", detail, pointer=f"line {line_of(newer)}")
    return root


def list_references(schema: Tree) -> Iterator[Tree]:
    """Return the references of an XML Schema to others."""
    return schema.iterchildren(*XSD_REFERENCES)


def _reference(node: Tree) -> SchemaReference:
    by = f"xs:{str(node.tag).removeprefix(XS)}"
    location = node.get("schemaLocation", "")
    return SchemaReference(location=location, namespace=node.get("namespace", ""), line=line_of(node), by=by)


def line_of(node: Tree) -> int:
    line: int | None = node.sourceline  # type: ignore[assignment]  # the stubs do not know what it is
    return line or 0


# ---- JSON Schema -----------------------------------------------------------------------------------------------------


def _read_json_schema(text: str) -> SchemaDescription:
    try:
        schema = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as fault:
        raise Refused("schema.invalid", f"this is not JSON: {str(fault)[:200]}") from None
    if not isinstance(schema, dict | bool):
        raise Refused("schema.invalid", "a JSON Schema is an object, or true or false")
    identity = json_identity(schema)
    found = {urldefrag(urljoin(identity, uri))[0]: uri for uri in _json_references(schema)}
    references = (SchemaReference(location=location, by="$ref") for location in found if location != identity)
    return SchemaDescription(identity=identity, references=tuple(references))


def json_identity(schema: Any) -> str:
    """Return the ``$id`` of a JSON Schema (``id`` in old drafts) without its fragment; empty if it has none."""
    named = schema.get("$id", schema.get("id", "")) if isinstance(schema, dict) else ""
    return urldefrag(named)[0] if isinstance(named, str) else ""


def _json_references(schema: Any) -> Iterator[str]:
    """Return all references, possibly with lookalikes such as examples, which are harmless because they do not resolve."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield from (uri for key in _JSON_REFERENCES if isinstance(uri := node.get(key), str))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


# ---- DTD -------------------------------------------------------------------------------------------------------------


def _read_dtd(text: str) -> SchemaDescription:
    if "<!" not in text:
        raise Refused("schema.invalid", "this is not a DTD; it declares nothing")
    plain = _DTD_COMMENT.sub(_lines_of, text)
    references = (
        SchemaReference(
            location=found[1] or found[2] or "", line=plain.count("\n", 0, found.start()) + 1, by="an entity"
        )
        for found in _DTD_REFERENCE.finditer(plain)
    )
    return SchemaDescription(references=tuple(references))


def _lines_of(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


_READERS: dict[AssetKind, Callable[[str], SchemaDescription]] = {
    AssetKind.SCHEMA: _read_xsd,
    AssetKind.DTD: _read_dtd,
    AssetKind.JSONSCHEMA: _read_json_schema,
}
