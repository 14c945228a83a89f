"""XML Schema 1.0 and DTDs by libxml2. Runs only in a worker process.

Rules: everything that a schema refers to comes from its own catalogue; a missing file is never looked for elsewhere,
and the process could not open it. Documents pass the network's own parser (``core/codecs/xml.py``) before libxml2
sees them: no entities, and limits on everything countable.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from lxml import etree

from postroad.adapters.validation.frames import MAX_FAULTS, NO_REASON, FoundFault, make_fault
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.xml import check_well_formed, to_utf8
from postroad.core.model.asset import AssetKind
from postroad.core.schemas.doctype import without_doctype
from postroad.core.schemas.schema_reader import SchemaReference, list_references
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused

SCHEME = "catalogue:///"
LIMITS = WireLimits(body_bytes=64 << 20, xml_elements=1_000_000)
FEW = (
    200  # faults whose lines are looked up; finding the place of each takes libxml2 time in proportion to the document
)

_ID = re.compile(r"\bID\b")
_parser = partial(etree.XMLParser, resolve_entities=False, no_network=True, huge_tree=False, collect_ids=False)


class EngineFailed(Exception):
    """libxml2 gave up; the document may still be valid."""


class _FromCatalogue(etree.Resolver):
    """Answers every question for an address from the catalogue, or with an error."""

    def __init__(self, texts: dict[str, bytes]) -> None:
        self._texts = texts

    def resolve(self, system_url: str, public_id: str, context: object = None) -> Any:
        text = self._texts.get(system_url.removeprefix(SCHEME))
        if text is None:
            raise LookupError(f"{system_url} is not in the catalogue")
        return self.resolve_string(text, context, base_url=system_url)


class XsdJudge:
    def __init__(self, name: str, texts: dict[str, str]) -> None:
        shelf = SchemaTexts(AssetKind.SCHEMA, texts)
        others = {_key(one): _linked(shelf, one, None) for one in texts if one != name}
        resolver = _FromCatalogue({key: etree.tostring(root) for key, root in others.items()})
        root = _linked(shelf, name, resolver)
        self._knows_ids = any(_ID.search(text) for text in texts.values())
        try:
            self._schema = etree.XMLSchema(root)
        except etree.XMLSchemaParseError as fault:
            raise _not_compiled(fault.error_log, str(fault)) from None

    def faults(self, document: bytes) -> list[FoundFault]:
        utf8 = _admitted(document)
        seen = self._seen_while_parsing(utf8)
        if len(seen) > FEW:
            return seen[:MAX_FAULTS]
        if (seen or self._knows_ids) and not self._valid(_tree(utf8, _parser())):
            return _list_faults(self._schema.error_log)
        return seen[:MAX_FAULTS]

    def _seen_while_parsing(self, utf8: bytes) -> list[FoundFault]:
        """Return the errors found while parsing: without lines, and without repeated ids, which need the whole document."""
        parser = _parser(schema=self._schema)
        try:
            etree.fromstring(utf8, parser)
        except etree.XMLSyntaxError as fault:
            logged = [make_fault(entry.message, entry.line) for entry in list(parser.error_log)[: FEW + 1]]
            return logged or [make_fault(fault.msg or "it cannot be parsed", fault.lineno or 0)]
        return []

    def _valid(self, tree: etree._Element) -> bool:
        try:
            return bool(self._schema.validate(tree))
        except etree.XMLSchemaValidateError as fault:
            raise EngineFailed(str(fault)) from None


class DtdJudge:
    def __init__(self, name: str, texts: dict[str, str]) -> None:
        shelf = SchemaTexts(AssetKind.DTD, texts)
        parser = _parser(load_dtd=True)
        parser.resolvers.add(_FromShelf(shelf))
        try:
            carrier = etree.fromstring(f'<!DOCTYPE r SYSTEM "{SCHEME}{_key(name)}"><r/>'.encode(), parser)
        except etree.XMLSyntaxError as fault:
            raise Refused("schema.invalid", fault.msg or "", pointer=f"line {fault.lineno}") from None
        except LookupError as missing:
            raise Refused("schema.invalid", str(missing.args[0])) from None
        dtd: Any = carrier.getroottree().docinfo.externalDTD
        if dtd is None or next(iter(dtd.iterelements()), None) is None:
            raise Refused("schema.invalid", "the DTD declares no element")
        self._dtd = dtd

    def faults(self, document: bytes) -> list[FoundFault]:
        tree = _tree(_admitted(document), _parser())
        return [] if self._dtd.validate(tree) else _list_faults(self._dtd.error_log)


class _FromShelf(_FromCatalogue):
    """Parameter entities are named as the DTD's author liked, so they are found as any reference is."""

    def __init__(self, shelf: SchemaTexts) -> None:
        super().__init__({_key(name): text.encode() for name, text in shelf.texts.items()})
        self._shelf = shelf

    def resolve(self, system_url: str, public_id: str, context: object = None) -> Any:
        name = self._shelf.target(SchemaReference(location=system_url))
        return super().resolve(SCHEME + _key(name) if name else system_url, public_id, context)


def _linked(shelf: SchemaTexts, name: str, resolver: etree.Resolver | None) -> etree._Element:
    """Return a schema whose references are addresses in the catalogue."""
    parser = _parser()
    if resolver is not None:
        parser.resolvers.add(resolver)
    utf8 = shelf.texts[name].encode()
    check_well_formed(to_utf8(utf8), LIMITS)
    root = _tree(utf8, parser, base_url=SCHEME + _key(name))
    for node in list_references(root):
        wanted = SchemaReference(location=node.get("schemaLocation", ""), namespace=node.get("namespace", ""))
        target = shelf.target(wanted)
        if target:
            node.set("schemaLocation", SCHEME + _key(target))
    return root


def _key(name: str) -> str:
    """A name as a part of an address: neither spaces nor letters that an address would have to escape."""
    return name.encode().hex()


def _admitted(document: bytes) -> bytes:
    utf8 = without_doctype(to_utf8(document)).document
    check_well_formed(utf8, LIMITS)
    return utf8


def _tree(utf8: bytes, parser: etree.XMLParser, base_url: str = SCHEME) -> etree._Element:
    try:
        return etree.fromstring(utf8, parser, base_url=base_url)
    except etree.XMLSyntaxError as fault:  # libxml2 has limits of its own, such as the length of a text
        raise Refused("wire.malformed", fault.msg or "it cannot be parsed", pointer=f"line {fault.lineno}") from None


def _not_compiled(log: Any, otherwise: str) -> Refused:
    faults = [entry for entry in log if entry.level >= etree.ErrorLevels.ERROR]
    if not faults:
        return Refused("schema.invalid", otherwise)
    return Refused("schema.invalid", faults[0].message, pointer=f"line {faults[0].line}" if faults[0].line else "")


def _list_faults(log: Any) -> list[FoundFault]:
    """Return the errors of a document that is known to have some."""
    told = [make_fault(entry.message, entry.line, entry.path or "") for entry in list(log)[:MAX_FAULTS]]
    return told or [NO_REASON]
