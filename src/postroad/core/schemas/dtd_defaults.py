"""Attribute defaults that a DTD declares, in an internal subset or in a registered DTD.

Only attribute lists are read; content models are never compiled, and nothing is fetched. Names are used as written,
including the prefix, because DTDs do not support namespaces; ``xmlns`` defaults are ignored. Rule: the cost is linear in
the length of the text, and the expansion of parameter entities is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from postroad.core.codecs.xml import Tree
from postroad.errors import Refused

MAX_EXPANDED = 1 << 20  # characters of a DTD after its parameter entities are expanded
MAX_NESTED = 8  # levels of parameter entities in parameter entities
DTDS_CACHED = 100
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_INSTRUCTION = re.compile(r"<\?.*?(?:\?>|\Z)", re.DOTALL)
_TOKEN = re.compile(r"""<!|>|"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)""")
_ENTITY = re.compile(r"""<!ENTITY\s+%\s+([^\s"'<>%]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_REFERENCE = re.compile(r"%([^\s;%\"'<>]+);")
_LIST = re.compile(r"""<!ATTLIST\s+([^\s"'<>]+)""")
_ATTRIBUTE = re.compile(
    r"""\s*([^\s"'<>()]+)\s+(NOTATION\s*\([^()]*\)|\([^()]*\)|[A-Z]+)\s*"""
    r"""(?:#REQUIRED|#IMPLIED|(?:#FIXED\s+)?(?:"([^"]*)"|'([^']*)'))"""
)
_CHARACTER = re.compile(r"&(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|lt|gt|amp|quot|apos);")
_PREDEFINED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}

Defaults = Mapping[str, Mapping[str, str]]  # of elements, by their names as written: attributes and values


class _NotClosedError(Exception):
    """A declaration is not closed."""


@lru_cache(maxsize=DTDS_CACHED)
def read_dtd(text: str) -> Defaults:
    """Return the default attributes of a DTD; refused with ``schema.invalid`` when it cannot be read safely."""
    plain = _INSTRUCTION.sub("", _COMMENT.sub("", text))
    if "<![" in plain:
        raise Refused(
            "schema.invalid", "conditional sections (<![INCLUDE[ …) are not read; write out what they include"
        )
    if not re.search(r"<!(?:ELEMENT|ATTLIST|ENTITY|NOTATION)\s", plain):
        raise Refused("schema.invalid", "this is not a DTD; it declares nothing")
    try:
        return _attribute_lists(_expanded(_lists(plain), _entities(plain)))
    except _NotClosedError:
        raise Refused("schema.invalid", "a declaration in this DTD is not closed") from None


def read_internal_subset(text: str) -> Defaults:
    """Return the default attributes that the internal subset of a document declares; one with entities is refused."""
    plain = _INSTRUCTION.sub("", _COMMENT.sub("", text))
    if "<!ENTITY" in plain or "<![" in plain or _REFERENCE.search(plain):
        raise Refused(
            "wire.forbidden-markup",
            "its document type declaration declares or uses entities, which are never expanded; leave them out",
        )
    try:
        return _attribute_lists(plain)
    except _NotClosedError:
        detail = "a declaration in its document type declaration is not closed"
        raise Refused("wire.malformed", detail) from None


def _entities(plain: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for declaration in _declarations(plain):
        entity = _ENTITY.match(declaration)
        if entity is not None:
            found.setdefault(entity[1], entity[2] if entity[2] is not None else entity[3])
    return found


def _lists(plain: str) -> str:
    """Return the attribute lists, and the parameter entities between declarations, which may contain attribute lists."""
    lists = [one for one in _declarations(plain) if one.startswith("<!ATTLIST")]
    return "\n".join([*_between(plain), *lists])


def _between(plain: str) -> list[str]:
    at = 0
    found: list[str] = []
    for start, end in (*_spans(plain), (len(plain), len(plain))):
        found += [f"%{name};" for name in _REFERENCE.findall(plain, at, start)]
        at = end
    return found


def _declarations(plain: str) -> Iterator[str]:
    return (plain[start:end] for start, end in _spans(plain))


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each declaration; a ``>`` in quotes does not end one."""
    start = -1
    for token in _TOKEN.finditer(plain):
        if token[0] == "<!":
            start = token.start()
        elif token[0] == ">" and start >= 0:
            yield start, token.end()
            start = -1
    if start >= 0:
        raise _NotClosedError


def _expanded(text: str, entities: Mapping[str, str]) -> str:
    for _ in range(MAX_NESTED):
        used = _REFERENCE.findall(text)
        if not used:
            return text
        for name in used:
            if name not in entities:
                raise Refused(
                    "schema.invalid", f"%{name[:80]}; is not declared in this DTD; put everything into one DTD"
                )
        if len(text) + sum(len(entities[name]) for name in used) > MAX_EXPANDED:
            raise Refused("schema.invalid", f"its parameter entities expand to more than {MAX_EXPANDED} characters")
        text = _REFERENCE.sub(lambda reference: f" {entities[reference[1]]} ", text)
    raise Refused("schema.invalid", f"its parameter entities are nested more than {MAX_NESTED} deep")


def _attribute_lists(text: str) -> Defaults:
    found: dict[str, dict[str, str]] = {}
    for declaration in _declarations(text):
        declared = _LIST.match(declaration)
        if declared is None:
            continue
        mine = found.setdefault(declared[1], {})
        at, body = 0, declaration[declared.end() :]
        seen = set(mine)
        while (attribute := _ATTRIBUTE.match(body, at)) is not None:
            at = attribute.end()
            value = attribute[3] if attribute[3] is not None else attribute[4]
            if value is not None and attribute[1] not in seen and not attribute[1].startswith("xmlns"):
                _keep(mine, attribute[1], value, is_text=attribute[2] == "CDATA")
            seen.add(attribute[1])
    return {element: values for element, values in found.items() if values}


def _keep(values: dict[str, str], name: str, text: str, *, is_text: bool) -> None:
    """Store a normalized default value; a value with an entity reference is ignored."""
    plain = _CHARACTER.sub("", text)
    if "&" in plain or "<" in plain:
        return
    value = _CHARACTER.sub(_character, re.sub(r"[\t\r\n]", " ", text))
    values[name] = value if is_text else " ".join(value.split())


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    if name in _PREDEFINED:
        return _PREDEFINED[name]
    code = int(name[2:], 16) if name.startswith("#x") else int(name[1:])
    return chr(code) if code < 0x110000 else ""


def defaults_for(node: Tree, defaults: Defaults) -> dict[str, str]:
    """Return the default attributes of an element by their qualified names."""
    tag = node.tag
    local = tag.rpartition("}")[2]
    given = defaults.get(f"{node.prefix}:{local}" if node.prefix else local)
    return {} if given is None else {_qualified(node, name): value for name, value in given.items()}


def _qualified(node: Tree, name: str) -> str:
    prefix, colon, local = name.rpartition(":")
    namespace = XML_NAMESPACE if prefix == "xml" else node.nsmap.get(prefix) if colon else None
    return f"{{{namespace}}}{local}" if namespace else name
