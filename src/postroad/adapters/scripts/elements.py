"""An XML document as a list of its elements, from which Starlark builds the tree that scripts see.

Kept rule: a flat list, each element with the place of its parent, so that no document is too deep for the way it takes.
"""

from __future__ import annotations

import msgspec

from postroad.core.codecs.xml import Tree, parse

# place of the parent, local name, namespace, attributes, own text
Element = tuple[int, str, str, dict[str, str], str]


def listed(text: str) -> str:
    """In document order, as JSON."""
    return msgspec.json.encode(_elements(parse(text.encode()))).decode()


def _elements(root: Tree) -> list[Element]:
    places: dict[Tree, int] = {}
    elements: list[Element] = []
    for element in root.iter("{*}*"):
        parent = element.getparent()
        places[element] = len(elements)
        namespace, _, name = str(element.tag).rpartition("}")
        attributes = {str(key): str(value) for key, value in element.attrib.items()}
        above = -1 if parent is None else places[parent]
        elements.append((above, name, namespace[1:], attributes, _own_text(element)))
    return elements


def _own_text(element: Tree) -> str:
    """Without that of its children."""
    return (element.text or "") + "".join(child.tail or "" for child in element)
