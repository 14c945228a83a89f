"""An XML document as a list of its elements, from which Starlark builds the tree that scripts see.

Rule: a flat list, each element with the index of its parent, so that no document is too deep for its encoding.
"""

from __future__ import annotations

import msgspec

from postroad.core.codecs.xml import Tree, parse

Attributes = dict[str | bytes, str | bytes]  # texts all of them; lxml's types do not say so

# place of the parent, local name, namespace, attributes, own text
Element = tuple[int, str, str, Attributes, str]


def list_elements(text: str) -> str:
    """In document order, as JSON."""
    return msgspec.json.encode(_elements(parse(text.encode()))).decode()


def _elements(root: Tree) -> list[Element]:
    places: dict[Tree | None, int] = {None: -1}
    elements: list[Element] = []
    for place, element in enumerate(root.iter("{*}*")):
        places[element] = place
        namespace, _, name = str(element.tag).rpartition("}")
        above = places[element.getparent()]
        elements.append((above, name, namespace[1:], dict(element.items()), _own_text(element)))
    return elements


def _own_text(element: Tree) -> str:
    """Without that of its children."""
    text = element.text or ""
    return text + "".join([child.tail or "" for child in element]) if len(element) else text
