"""Default attribute values from XML Schemas and DTDs, for conditions that read attributes.

Only attribute declarations are read from a schema, wherever they occur (global or local elements, named or anonymous
types, groups, extensions and restrictions). Content models are never compiled and nothing is fetched, because a
schema can be as hostile as any other input. Rule: reading costs one walk through the schema. References are resolved
when a document needs them, once, and circular references end where they close.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from postroad.core.codecs.xml import Tree, parse
from postroad.core.model.asset import AssetKind
from postroad.core.model.snapshot import Directory
from postroad.core.routing.paths.xml_walk import Attributes
from postroad.core.schemas.dtd_defaults import Defaults, defaults_for, read_dtd
from postroad.errors import Refused

XS = "{http://www.w3.org/2001/XMLSchema}"
MAX_RESOLVED = 10_000
SCHEMAS_CACHED = 100
_GLOBALS = ("element", "complexType", "attribute", "attributeGroup", "group")
_BELOW = frozenset(
    XS + name for name in ("sequence", "choice", "all", "complexContent", "simpleContent", "extension", "restriction")
)


class _Name(NamedTuple):
    kind: str
    name: str


class ElementDeclaration(NamedTuple):
    """An element declaration: its default attributes, and the declarations of its children by name."""

    defaults: Mapping[str, str]
    children: Mapping[str, Tree]


NOTHING_DECLARED = ElementDeclaration({}, {})


class AttributeDefaults:
    """The default attributes of one schema, by the names from a document's root down to an element."""

    __slots__ = ("_globals", "_known", "_qualified_attributes", "_qualified_elements", "_target", "elsewhere")

    def __init__(self, schema: Tree) -> None:
        self.elsewhere = _elsewhere(schema)
        self._target = schema.get("targetNamespace", "")
        self._qualified_elements = schema.get("elementFormDefault") == "qualified"
        self._qualified_attributes = schema.get("attributeFormDefault") == "qualified"
        self._globals = {
            _Name(kind, self._in_target(node.get("name", ""))): node
            for kind in _GLOBALS
            for node in schema.iterchildren(XS + kind)
        }
        self._known: dict[Tree, ElementDeclaration] = {}

    def declares(self, root: str) -> bool:
        """Whether the schema has a global element of this qualified name."""
        return _Name("element", root) in self._globals

    def value(self, chain: Sequence[str], attribute: str) -> str | None:
        """Return the default of an attribute; ``chain`` has the names of all elements from the root to the element."""
        declared = self.root(chain[0]) if chain else NOTHING_DECLARED
        for name in chain[1:]:
            declared = self.child(declared, name)
        return declared.defaults.get(attribute)

    def root(self, name: str) -> ElementDeclaration:
        node = self._globals.get(_Name("element", name))
        return NOTHING_DECLARED if node is None else self._declared(node)

    def child(self, parent: ElementDeclaration, name: str) -> ElementDeclaration:
        node = parent.children.get(name)
        return NOTHING_DECLARED if node is None else self._declared(node)

    def _declared(self, element: Tree) -> ElementDeclaration:
        """Return the declaration of an element; cached."""
        known = self._known.get(element)
        if known is None:
            known = self._known[element] = self._gathered(element)
        return known

    def _gathered(self, element: Tree) -> ElementDeclaration:
        defaults: dict[str, str | None] = {}
        children: dict[str, Tree] = {}
        for node in self._inside(element):
            if node.tag == XS + "attribute":
                self._take_attribute(node, defaults)
            else:
                name, declaration = self._element(node)
                children.setdefault(name, declaration)
        return ElementDeclaration({name: value for name, value in defaults.items() if value is not None}, children)

    def _inside(self, element: Tree) -> Iterator[Tree]:
        """Yield the attribute and element declarations that apply to an element, nearest first."""
        waiting = self._type_of(element)
        visited: set[Tree] = set()
        while waiting and len(visited) <= MAX_RESOLVED:
            node = waiting.pop(0)
            if node in visited:
                continue
            visited.add(node)
            for child in node.iterchildren("*"):
                if child.tag in (XS + "attribute", XS + "element"):
                    yield child
                else:
                    waiting += self._led_to(child)

    def _type_of(self, element: Tree) -> list[Tree]:
        named = element.get("type")
        if named is not None:
            return self._global("complexType", element, named)
        return list(element.iterchildren(XS + "complexType"))

    def _led_to(self, node: Tree) -> list[Tree]:
        """Return the nodes whose declarations apply: the node, its base type, and the group it refers to."""
        found = [node] if node.tag in _BELOW else []
        if node.tag in (XS + "extension", XS + "restriction"):
            found += self._global("complexType", node, node.get("base", ""))
        for kind in ("group", "attributeGroup"):
            if node.tag == XS + kind:
                found += self._global(kind, node, node.get("ref", ""))
        return found

    def _global(self, kind: str, near: Tree, name: str) -> list[Tree]:
        node = self._globals.get(_Name(kind, _resolved(near, name)))
        return [] if node is None else [node]

    def _take_attribute(self, node: Tree, defaults: dict[str, str | None]) -> None:
        reference = node.get("ref")
        declaration = next(iter(self._global("attribute", node, reference or "")), node) if reference else node
        qualified = node.get("form", "qualified" if self._qualified_attributes else "") == "qualified"
        name = _resolved(node, reference) if reference else self._named(node, qualified)
        given = None if node.get("use") == "prohibited" else _given(node) or _given(declaration)
        if name not in defaults:
            defaults[name] = None if given is None else given[0]

    def _element(self, node: Tree) -> tuple[str, Tree]:
        reference = node.get("ref")
        if reference is not None:
            name = _resolved(node, reference)
            return name, self._globals.get(_Name("element", name), node)
        qualified = node.get("form", "qualified" if self._qualified_elements else "") == "qualified"
        return self._named(node, qualified), node

    def _named(self, node: Tree, qualified: bool) -> str:
        name = node.get("name", "")
        return self._in_target(name) if qualified else name

    def _in_target(self, name: str) -> str:
        return f"{{{self._target}}}{name}" if self._target else name


def _elsewhere(schema: Tree) -> tuple[str, int] | None:
    """Return how, and in which line, a schema refers to another file; None if it refers to none."""
    for kind in ("include", "import", "redefine", "override"):
        node = next(schema.iterchildren(XS + kind), None)
        if node is not None and (kind != "import" or node.get("schemaLocation")):
            line: int | None = node.sourceline  # type: ignore[assignment]  # not typed in the stubs
            return kind, line or 0
    return None


def _given(node: Tree) -> tuple[str] | None:
    value = node.get("default", node.get("fixed"))
    return None if value is None else (value,)


def _resolved(near: Tree, name: str) -> str:
    """Return the qualified name for a prefixed name, by the namespace declarations in scope."""
    prefix, colon, local = name.rpartition(":")
    namespace = near.nsmap.get(prefix if colon else None)
    return f"{{{namespace}}}{local}" if namespace else local


@lru_cache(maxsize=SCHEMAS_CACHED)
def read_schema(xsd: str) -> AttributeDefaults:
    """Return the default attributes of a schema, without following references; raises Refused if it cannot be read."""
    try:
        schema = parse(xsd.encode("utf-8", "surrogatepass"))
    except Refused as refusal:
        raise Refused("schema.invalid", refusal.detail, pointer=refusal.pointer) from None
    if schema.tag != XS + "schema":
        raise Refused("schema.invalid", "this is not an XML Schema; its root must be xs:schema")
    return AttributeDefaults(schema)


def check_alone(xsd: str) -> None:
    """Refuse a schema that cannot be read, or whose default attributes depend on other schemas."""
    read = read_schema(xsd)
    if read.elsewhere:
        kind, line = read.elsewhere
        detail = f"xs:{kind} is not supported; put everything into one schema"
        raise Refused("schema.invalid", detail, pointer=f"line {line}")


# ---- the schemas of a service ----------------------------------------------------------------------------------------


class DoctypeDefaults(NamedTuple):
    """The default attributes that a document's document type declaration sets."""

    system_id: str
    internal: Defaults


class DefaultAttributes:
    """The default attributes in the schemas and DTDs of a service, by their names."""

    __slots__ = ("_dtds", "_schemas")

    def __init__(self, schemas: Mapping[str, str], dtds: Mapping[str, str]) -> None:
        self._schemas = schemas
        self._dtds = dtds

    def __call__(self, schema: str, root: str) -> AttributeDefaults | None:
        """Return the named schema or, without a name, the only schema that declares this root element."""
        if schema:
            content = self._schemas.get(schema.casefold())
            return None if content is None else read_schema(content)
        declaring = [known for known in map(read_schema, self._schemas.values()) if known.declares(root)]
        return declaring[0] if len(declaring) == 1 else None

    def attributes(self, schema: str, root: str, doctyped: DoctypeDefaults | None) -> Attributes | None:
        """Return how the attributes of a document are read; None if there are no default attributes."""
        found = self(schema, root)
        by_schema = None if found is None else attributes_with(found)
        dtd = self._dtd(schema, doctyped)
        internal = doctyped.internal if doctyped is not None else {}
        if not dtd and not internal:
            return by_schema
        return _attributes_by_dtd(by_schema, internal, dtd)

    def _dtd(self, schema: str, doctyped: DoctypeDefaults | None) -> Defaults:
        """Return the DTD that a location names or, without a name, the one that the document's system identifier ends with."""
        wanted = schema or (doctyped.system_id.rpartition("/")[2] if doctyped is not None else "")
        content = self._dtds.get(_without_ending(wanted)) if wanted else None
        return {} if content is None else read_dtd(content)


no_default_attributes = DefaultAttributes({}, {})


def _without_ending(name: str) -> str:
    return name.casefold().removesuffix(".dtd")


def default_attributes_of(service: str, directory: Directory) -> DefaultAttributes:
    """Return the default attributes for the rules of a service (GCID); cached in the snapshot."""
    key = ("default attributes", service)
    known: DefaultAttributes | None = directory.cache.get(key)
    if known is None:
        known = directory.cache[key] = _lookup(service, directory)
    return known


def _lookup(service: str, directory: Directory) -> DefaultAttributes:
    assets = directory.assets_of(service)
    schemas = {asset.name.casefold(): asset.content for asset in assets if asset.kind is AssetKind.SCHEMA}
    dtds = {_without_ending(asset.name): asset.content for asset in assets if asset.kind is AssetKind.DTD}
    return DefaultAttributes(schemas, dtds) if schemas or dtds else no_default_attributes


def _attributes_by_dtd(by_schema: Attributes | None, internal: Defaults, dtd: Defaults) -> Attributes:
    """Read attributes with the defaults of a DTD; the internal subset has priority, and a schema over both."""

    def attributes(node: Tree) -> Mapping[str, str]:
        present: Mapping[str, str] = node.attrib if by_schema is None else by_schema(node)  # type: ignore[assignment]
        given = {**defaults_for(node, dtd), **defaults_for(node, internal)}
        return {**given, **present} if given else present

    return attributes


def attributes_with(defaults: AttributeDefaults) -> Attributes:
    """Return a function that reads an element's attributes, including defaults; for one document."""
    declared: dict[Tree, ElementDeclaration] = {}

    def declared_for(node: Tree) -> ElementDeclaration:
        unknown = []
        above: Tree | None = node
        while above is not None and above not in declared:
            unknown.append(above)
            above = above.getparent()
        for one in reversed(unknown):
            parent = one.getparent()
            declared[one] = defaults.root(one.tag) if parent is None else defaults.child(declared[parent], one.tag)
        return declared[node]

    def attributes(node: Tree) -> Mapping[str, str]:
        given = declared_for(node).defaults
        present: Mapping[str, str] = node.attrib  # type: ignore[assignment]  # the stubs also allow bytes
        return {**given, **present} if given else present

    return attributes
