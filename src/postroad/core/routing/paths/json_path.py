"""Paths into JSON documents: ``$.order.lines[0].sku``, ``$.lines[*].price``, ``$['odd name']``, ``$..sku``.

Rule: a step visits each part of the document at most once; a step that visits or finds too many nodes is aborted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from postroad.core.routing.paths.xml_path import MAX_DESCENDANTS, MAX_STEPS, PATH_CHARS, bad_path
from postroad.core.routing.paths.xml_walk import MAX_NODES, Look, TooManyNodes, count_nothing

MAX_VISITS = 200_000

_STEP = re.compile(
    r"""(?P<descends>\.\.(?=[\w\[]))?(?:(?(descends)|\.)(?P<name>[^\W\d][\w-]*)"""
    r"""|\[\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\]"""
    r"""|(?(descends)(?!)|(?:\.\*|\[\s*(?:\*|(?P<index>0|[1-9][0-9]{0,8}))\s*\])))"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonStep:
    """A step by name, by index, or, with neither, to all members."""

    name: str | None = None
    index: int | None = None
    descends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPath:
    steps: tuple[JsonStep, ...]


def read_json_path(text: str) -> JsonPath:
    """Parse a path, or refuse it with the position of the error."""
    if len(text) > PATH_CHARS:
        raise bad_path(f"the path has {len(text)} characters; at most {PATH_CHARS} are allowed")
    steps: list[JsonStep] = []
    position = 1  # after the $
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            raise bad_path(
                f"the path cannot be read at character {position + 1} ({text[position : position + 20]!r}); "
                "write it like $.order.lines[0]['sku']"
            )
        steps.append(_step(found))
        position = found.end()
    if len(steps) > MAX_STEPS:
        raise bad_path(f"the path has {len(steps)} steps; at most {MAX_STEPS} are allowed")
    if sum(step.descends for step in steps) > MAX_DESCENDANTS:
        raise bad_path(f"the path uses .. more than {MAX_DESCENDANTS} times; write the steps between")
    return JsonPath(steps=tuple(steps))


def _step(found: re.Match[str]) -> JsonStep:
    if found["index"] is not None:
        return JsonStep(index=int(found["index"]))
    names = (found[group] for group in ("name", "single", "double"))
    name = next((name for name in names if name is not None), None)
    return JsonStep(name=name, descends=found["descends"] is not None)


def select_json(root: object, path: JsonPath, look: Look = count_nothing) -> list[object]:
    """Return the values that the path selects."""
    nodes = [root]
    for step in path.steps:
        look(len(nodes))
        nodes = list(islice(_found(nodes, step, look), MAX_NODES + 1))
        if len(nodes) > MAX_NODES:
            raise TooManyNodes
    return nodes


def _found(nodes: Iterable[object], step: JsonStep, look: Look) -> Iterator[object]:
    if step.descends:
        nodes = _containers(nodes, look)
    for node in nodes:
        if isinstance(node, dict):
            if step.name is not None:
                if step.name in node:
                    yield node[step.name]
            elif step.index is None:
                yield from node.values()
        elif isinstance(node, list):
            if step.index is not None:
                yield from node[step.index : step.index + 1]
            elif step.name is None:
                yield from node


def _containers(nodes: Iterable[object], look: Look) -> Iterator[object]:
    """Yield the nodes and all their descendants that have members, each once."""
    waiting = [node for node in nodes if isinstance(node, (dict, list))]
    waiting.reverse()
    visited: set[int] = set()
    visits = 0
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        yield node
        members = list(node.values()) if isinstance(node, dict) else node
        visits += len(members)
        look(1 + len(members))
        if visits > MAX_VISITS:
            raise TooManyNodes
        waiting.extend(member for member in reversed(members) if isinstance(member, (dict, list)))
