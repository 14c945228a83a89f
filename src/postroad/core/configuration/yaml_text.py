"""Reads and writes YAML; multi-line texts such as stylesheets are written as block text.

Rule: the result is exactly what was written. A repeated name is an error; the last value does not win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError

WIDTH = 120
BOOLEAN = "tag:yaml.org,2002:bool"
MERGE = "tag:yaml.org,2002:merge"


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that escapes texts with invisible characters."""

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Escapes a text with invisible characters in it wholly; a terminal would obey some of them."""
        allowed = self.allow_unicode
        self.allow_unicode = allowed and text.replace("\n", "").isprintable()
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Represent a text as a block or plain scalar; unusual characters are escaped."""
    style = "|" if "\n" in text else None
    if not text.replace("\n", "").isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)


def _check_names(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
            if key.value in seen:
                raise ConstructorError(None, None, f"{key.value[:80]!r} is repeated", key.start_mark)
            seen.add(key.value)


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        _check_names(node)
        return super().construct_mapping(node, deep)


# Only true and false are what they say, as in YAML 1.2: NO is a country, and on may be a topic.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != BOOLEAN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(BOOLEAN, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a PyYAML without libyaml reads the same


class _FastLoader(_Fast):  # type: ignore[misc]  # chosen when this is imported
    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        _check_names(node)
        return super().construct_mapping(node, deep)


def events_of(text: str) -> Iterator[yaml.Event]:
    """Yield the parse events of a YAML text; raises YAMLError if it cannot be read."""
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Fast)
    return events


def from_shallow_yaml(text: str) -> Any:
    """Read YAML with libyaml, ten times faster; only for text known not to be deeply nested."""
    return yaml.load(text, Loader=_FastLoader)  # noqa: S506 - a safe loader


def from_yaml(text: str | bytes) -> Any:
    """Read YAML; raises YAMLError if it cannot be read."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
