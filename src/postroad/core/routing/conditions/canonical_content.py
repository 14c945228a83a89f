"""Canonical text of element content: two contents are equal exactly if these texts are equal.

For XML, names have namespaces instead of prefixes, attributes are sorted, and white space between elements is left
out. For JSON, names are sorted and numbers are normalized. The text is cut at a given length, so that comparing costs
no more than the value it is compared with, however large a document is. Reading beyond the cut is counted (``look``):
the names of an object, which are sorted before the first one is written, and texts longer than the cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from json import dumps

from postroad.core.codecs.xml import Tree
from postroad.core.routing.conditions.values import read_number
from postroad.core.routing.paths.xml_walk import CHARS_A_LOOK, Look, count_nothing

PLAIN_POWER = 20  # larger powers are written with an exponent


class JsonNumber(str):
    """A number of a JSON document, spelled as in the document."""

    __slots__ = ()


def xml_content(element: Tree, most: int, look: Look = count_nothing) -> str:
    """Return the canonical content of an element that has child elements."""
    return _joined(_xml_members(element, look), most)


def json_content(value: dict[str, object] | list[object], most: int, look: Look = count_nothing) -> str:
    return _joined(_json_pieces(value, look), most)


def json_text(value: object) -> str:
    """Return the text of a JSON value that is neither an object nor an array."""
    if isinstance(value, str):
        return value
    return dumps(value)


def _joined(pieces: Iterator[str], most: int) -> str:
    taken: list[str] = []
    length = 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if length >= most:
            break
    return "".join(taken)[:most]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _xml_members(element: Tree, look: Look) -> Iterator[str]:
    """Yield the content of an element lazily."""
    open_ones = [("", _members(element, look))]
    while open_ones:
        for member in open_ones[-1][1]:
            if isinstance(member, str):
                yield member
            else:
                yield _opening(member, look)
                open_ones.append((f"</{member.tag}>", _members(member, look)))
                break
        else:
            yield open_ones.pop()[0]


def _members(element: Tree, look: Look) -> Iterator[Tree | str]:
    mixed = len(element) > 0
    yield from _text(element.text, mixed, look)
    for child in element:
        yield child
        yield from _text(child.tail, mixed, look)


def _text(text: str | None, between_elements: bool, look: Look) -> Iterator[str]:
    if text and len(text) >= CHARS_A_LOOK:
        look(len(text) // CHARS_A_LOOK)
    if text and not (between_elements and text.isspace()):
        yield _escaped(text)


def _opening(element: Tree, look: Look) -> str:
    if element.attrib:
        look(len(element.attrib))
    pairs = sorted((str(name), str(value)) for name, value in element.attrib.items())
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in pairs)
    return f"<{element.tag}{attributes}>"


def _json_pieces(value: dict[str, object] | list[object], look: Look) -> Iterator[str]:
    open_ones = [_json_members(value, look)]
    while open_ones:
        for member in open_ones[-1]:
            if isinstance(member, str):
                yield member
            else:
                open_ones.append(_json_members(member, look))
                break
        else:
            open_ones.pop()


def _json_members(
    container: dict[str, object] | list[object], look: Look
) -> Iterator[str | dict[str, object] | list[object]]:
    if isinstance(container, dict):
        look(len(container))
        for place, name in enumerate(sorted(container)):
            yield f"{',' if place else '{'}{dumps(name)}:"
            yield _json_member(container[name])
        yield "}" if container else "{}"
        return
    for place, value in enumerate(container):
        yield "," if place else "["
        yield _json_member(value)
    yield "]" if container else "[]"


def _json_member(value: object) -> str | dict[str, object] | list[object]:
    if isinstance(value, (dict, list)):
        return value
    if isinstance(value, JsonNumber) or (isinstance(value, int) and not isinstance(value, bool)):
        number = read_number(str(value))
        return str(value) if number is None else _plain(number)
    return dumps(value)


def _plain(number: Decimal) -> str:
    """Return the canonical spelling of a number; equal numbers have the same one."""
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    power = int(exponent) + len(written) - len(significant)
    if not significant:
        return "0"
    exact = Decimal(f"{'-' if sign else ''}{significant}e{power}")
    return f"{exact:f}" if abs(power) <= PLAIN_POWER else str(exact)
