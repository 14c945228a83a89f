"""Evaluates XML paths on documents, with XPath's meaning.

Rule: every step and every predicate is at most one walk through the document. Every visited node is counted,
ancestors included, and a step that finds too many nodes is aborted. So neither a hostile document nor a careless path
delays others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from postroad.core.codecs.xml import Tree
from postroad.core.routing.paths.xml_path import LAST, Equality, Finds, PathStep, XmlPath

MAX_NODES = 10_000
CHILDREN_A_LOOK = 8  # children compared by name, in C, in the time of one visit
CHARS_A_LOOK = 200  # characters decoded and compared in the time of one visit

Attributes = Callable[[Tree], Mapping[str, str]]  # of an element, those with default values included
Look = Callable[[int], None]  # called with the number of visited nodes; raises TooManyNodes at the limit
_Node = TypeVar("_Node")


def count_nothing(_nodes: int) -> None:
    """Count nothing; for callers without a budget."""


class TooManyNodes(Exception):
    """A step found more nodes than the limit."""


def select_elements(root: Tree, path: XmlPath, attributes: Attributes, look: Look = count_nothing) -> list[Tree]:
    """Return the elements that a path selects, ignoring a last step to attributes or texts."""
    steps = path.steps if path.finds is Finds.ELEMENTS else path.steps[:-1]
    if not steps:  # //@id and //text() start at the document itself
        return [root]
    nodes = _from_document(root, steps[0], attributes, look)
    for step in steps[1:]:
        if not nodes:
            return nodes
        nodes = _below(nodes, step, attributes, look)
    return nodes


def select_texts(root: Tree, path: XmlPath, attributes: Attributes, look: Look = count_nothing) -> list[str]:
    """Return the attribute values or texts that the path selects."""
    step = path.steps[-1]
    if len(path.steps) == 1 and not step.descends:
        return []  # a document itself has neither attributes nor texts
    nodes = select_elements(root, path, attributes, look)
    look(len(nodes))
    holders = _selves_and_below(nodes, look) if step.descends else nodes
    texts = _texts(holders) if step.finds is Finds.TEXTS else _values(holders, step.name, attributes)
    return _bounded(texts)


def _from_document(root: Tree, step: PathStep, attributes: Attributes, look: Look) -> list[Tree]:
    if step.descends:
        return _chosen(_bounded(root.iter(step.name)), step, attributes, look)
    return _filtered([root], step, attributes, look) if matches_name(root.tag, step.name) else []


def _below(nodes: list[Tree], step: PathStep, attributes: Attributes, look: Look) -> list[Tree]:
    if step.descends:
        found = _bounded(node for top in _outermost(nodes, look) for node in top.iterdescendants(step.name))
        return _chosen(found, step, attributes, look)
    look(len(nodes) + sum(map(len, nodes)) // CHILDREN_A_LOOK)
    if not step.predicates:
        if len(nodes) == 1:
            return _bounded(nodes[0].iterchildren(step.name))
        return _bounded(child for node in nodes for child in node.iterchildren(step.name))
    return _bounded(child for node in nodes for child in _filtered(_candidates(node, step), step, attributes, look))


def _candidates(node: Tree, step: PathStep) -> list[Tree]:
    """Return the children to which predicates apply, up to the position that a predicate names."""
    first = step.predicates[0]
    if first == LAST:
        return list(islice(node.iterchildren(step.name, reversed=True), 1))
    if isinstance(first, int):
        return list(islice(node.iterchildren(step.name), first))
    return _bounded(node.iterchildren(step.name))


def _chosen(found: list[Tree], step: PathStep, attributes: Attributes, look: Look) -> list[Tree]:
    """Return the descendants that meet the predicates; positions count the children of one parent, as in XPath."""
    if not step.counts:
        return _filtered(found, step, attributes, look)
    families: dict[Tree | None, list[Tree]] = {}
    for node in found:
        families.setdefault(node.getparent(), []).append(node)
    return [node for family in families.values() for node in _filtered(family, step, attributes, look)]


def _filtered(nodes: list[Tree], step: PathStep, attributes: Attributes, look: Look) -> list[Tree]:
    for predicate in step.predicates:
        if isinstance(predicate, Equality):
            look(len(nodes))
            nodes = [node for node in nodes if _equal(node, predicate, attributes, look)]
        else:
            nodes = nodes[-1:] if predicate == LAST else nodes[predicate - 1 : predicate]
    return nodes


def _equal(node: Tree, predicate: Equality, attributes: Attributes, look: Look) -> bool:
    if predicate.attribute:
        return attributes(node).get(predicate.name) == predicate.literal
    passed = len(node) // CHILDREN_A_LOOK
    is_equal = False
    for child in node.iterchildren(predicate.name):
        passed += 1
        if len(child) == 0:
            text = child.text or ""
            passed += len(text) // CHARS_A_LOOK
            if text == predicate.literal:
                is_equal = True
                break
    if passed:
        look(passed)
    return is_equal


def _outermost(nodes: list[Tree], look: Look) -> list[Tree]:
    """Return the nodes that are not descendants of another one of them; these cover all descendants."""
    look(len(nodes))
    if len(nodes) == 1:
        return nodes
    known = dict.fromkeys(nodes, True)  # elements, and whether they or one of their ancestors are among the nodes
    return [node for node in nodes if not _is_covered(node.getparent(), known, look)]


def _is_covered(element: Tree | None, known: dict[Tree, bool], look: Look) -> bool:
    passed: list[Tree] = []
    while element is not None and element not in known:
        passed.append(element)
        element = element.getparent()
    is_covered = element is not None and known[element]
    if passed:
        look(len(passed))
        known.update(dict.fromkeys(passed, is_covered))
    return is_covered


def _selves_and_below(nodes: list[Tree], look: Look) -> Iterator[Tree]:
    return (node for top in _outermost(nodes, look) for node in top.iter("*"))


def _texts(nodes: Iterable[Tree]) -> Iterator[str]:
    for node in nodes:
        if node.text:
            yield node.text
        yield from (child.tail for child in node if child.tail)


def _values(nodes: Iterable[Tree], name: str, attributes: Attributes) -> Iterator[str]:
    if not name.endswith("*"):
        for node in nodes:
            value = attributes(node).get(name)
            if value is not None:
                yield value
        return
    for node in nodes:
        yield from (value for found, value in attributes(node).items() if matches_name(found, name))


def matches_name(tag: str, name: str) -> bool:
    """Whether a qualified name matches a name test."""
    return tag == name or name == "*" or (name[-1] == "*" and tag.startswith(name[:-1]))


def _bounded(found: Iterable[_Node]) -> list[_Node]:
    nodes = list(islice(found, MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        raise TooManyNodes
    return nodes
