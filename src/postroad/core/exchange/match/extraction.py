"""Extracts the values of all slots that bindings use from an XML document, in one walk and one search.

Paths that begin with ``//name`` and continue with child steps are found by the parser's own search for names, a few paths
with a wildcard by its XPath, and all others by the automaton. Rule: each node is visited once for each slot, so that counts
are right; the order of values is undefined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import repeat

from postroad.core.codecs.refusals import too_complex
from postroad.core.codecs.xml import Tree, compile_finder
from postroad.core.exchange.match.automaton import Automaton, AutomatonState, list_fitting_names
from postroad.core.exchange.query.syntax import ANY_NAME, StepKind
from postroad.core.exchange.slots import DocumentSlot, Raw, SlotStep

Found = defaultdict[int, Raw]  # lists, filled as nodes are met
MAX_SEARCHES = 6  # maximum separate searches; with more, one search for all is cheaper
MAX_WILDCARDS = 3  # maximum paths with a wildcard that are searched; with more, walking is cheaper
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MAX_TEXT_CHARS = 64_000_000  # maximum for one message; the text of nested elements counts for each of them
_WHOLE_TEXT = compile_finder("string()")
MANY_CHILDREN = 8  # above this number of children, the parser's search for names is cheaper


class Extraction:
    """A plan for looking at documents, rebuilt when the slots in use change."""

    __slots__ = ("_anywhere", "_attributes", "_from_root", "_tags", "_whole", "_wildcards")

    def __init__(self, slots: Mapping[int, DocumentSlot]) -> None:
        searched = {number: slot for number, slot in slots.items() if _is_searched(slot)}
        wildcards = {number: path for number, slot in slots.items() if (path := _with_wildcard(slot))}
        if len(wildcards) > MAX_WILDCARDS:
            wildcards = {}
        walked = {
            number: slot
            for number, slot in slots.items()
            if slot.steps and number not in searched and number not in wildcards
        }
        self._wildcards = [(number, compile_finder(path)) for number, path in wildcards.items()]
        self._whole = [number for number, slot in slots.items() if not slot.steps]
        self._from_root = Automaton((slot.steps, number) for number, slot in walked.items())
        self._anywhere = Automaton((_from_name(slot.steps), number) for number, slot in searched.items())
        tags = sorted({_tag(slot.steps[0]) for slot in searched.values()})
        states = {tag: self._anywhere.step(self._anywhere.start, tag) for tag in tags}
        simple = {tag: state.attributes for tag, state in states.items() if state and state.only_attributes}
        self._attributes = list(simple.items())[:MAX_SEARCHES]
        self._tags = tuple(tag for tag in tags if tag not in dict(self._attributes))

    def look(self, root: Tree) -> Found:
        found: Found = defaultdict(list)
        texts = _Texts()
        for number in self._whole:
            found[number] = [texts.of(root)]
        _visit(self._from_root, self._from_root.start, (root,), found, texts)
        for number, find in self._wildcards:
            if there := find(root):
                found[number] = [one if isinstance(one, str) else texts.of(one) for one in there]
        for tag, attributes in self._attributes:
            for name, slot in attributes:
                values = map(Tree.get, root.iter(tag), repeat(name))
                found[slot] = [value for value in values if value is not None]
        if self._tags:
            _visit(self._anywhere, self._anywhere.start, root.iter(*self._tags), found, texts)
        return found


def _is_searched(slot: DocumentSlot) -> bool:
    if not slot.steps or any(step.descends for step in slot.steps[1:]):
        return False
    first = slot.steps[0]
    full = first.name.local is not None and first.name.namespace is not None
    return first.kind is StepKind.ELEMENT and first.descends and full


def _with_wildcard(slot: DocumentSlot) -> str:
    """Return the slot as an XPath from the root element, if it has a wildcard and only simple steps otherwise."""
    upper = slot.steps[:-1]
    if ANY_NAME not in [step.name for step in upper] or upper[0].name == ANY_NAME:
        return ""
    written = [_in_xpath(step) for step in slot.steps]
    return "self::" + "/".join(written) if all(written) else ""


def _in_xpath(step: SlotStep) -> str:
    """Return the step in XPath syntax; empty if it cannot be expressed with certainty."""
    if step.descends or step.kind not in (StepKind.ELEMENT, StepKind.ATTRIBUTE):
        return ""
    mark = "@" if step.kind is StepKind.ATTRIBUTE else ""
    if step.name == ANY_NAME:
        return f"{mark}*"
    named = step.name.namespace == "" and _PLAIN_NAME.fullmatch(step.name.local or "")
    return f"{mark}{step.name.local}" if named else ""


def _from_name(steps: tuple[SlotStep, ...]) -> tuple[SlotStep, ...]:
    return (SlotStep(kind=steps[0].kind, name=steps[0].name), *steps[1:])


def _tag(step: SlotStep) -> str:
    return f"{{{step.name.namespace}}}{step.name.local}" if step.name.namespace else str(step.name.local)


class _Texts:
    """The texts of elements, and how much more of them may be put together."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_TEXT_CHARS

    def of(self, element: Tree) -> str:
        if not len(element):
            return element.text or ""
        text: str = _WHOLE_TEXT(element)
        self._left -= len(text)
        if self._left < 0:
            raise too_complex("nested elements repeat too much text; search fewer locations, or send less")
        return text


def _visit(automaton: Automaton, state: AutomatonState, elements: Iterable[Tree], found: Found, texts: _Texts) -> None:
    """Collect from these elements and from all below them that the state leads to."""
    following = state.next
    for element in elements:
        tag = element.tag
        here = following[tag] if tag in following else automaton.step(state, tag)
        if here is None:
            continue
        if here.only_value is not None:
            found[here.only_value].append(texts.of(element) if len(element) else element.text or "")
            continue
        for name, slot in here.attributes:
            value = element.get(name)
            if value is not None:
                found[slot].append(value)
        for slot in here.values:
            found[slot].append(texts.of(element))
        if here.collects_rarely:
            _collect_rarely(element, here, found)
        if here.goes_on and (children := len(element)):
            narrow = children > MANY_CHILDREN and here.tags
            _visit(automaton, here, element.iterchildren(*here.tags) if narrow else element, found, texts)


def _collect_rarely(element: Tree, here: AutomatonState, found: Found) -> None:
    for slot in here.texts:
        texts = [element.text, *(child.tail for child in element)]
        found[slot].extend(text for text in texts if text)
    wild = here.wild_attributes
    for attribute, value in element.attrib.items() if wild else ():
        written = str(attribute)
        namespace, _, local = written[1:].rpartition("}") if written.startswith("{") else ("", "", written)
        for name in list_fitting_names(namespace, local):
            for slot in wild.get(name, ()):
                found[slot].append(str(value))
