"""Configuration as YAML that people like to read: texts of several lines, such as stylesheets, stand as those lines.

Kept rule: what is read is what was written. A name that comes twice is a fault, and not the last of them.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import ConstructorError

WIDTH = 120
MERGE = "tag:yaml.org,2002:merge"


class _Dumper(yaml.SafeDumper):
    """Where lines cannot stand as they are (blanks at their ends, say), PyYAML itself falls back to quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Odd characters are escaped: PyYAML would take some of them for line ends when it reads them back."""
    style = "|" if "\n" in text else None
    if not text.replace("\n", "").isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                if key.value in seen:
                    raise ConstructorError(None, None, f"{key.value[:80]!r} stands there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def from_yaml(text: str | bytes) -> Any:
    """What the text says; raises YAMLError when it cannot be read."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except RecursionError:
        raise yaml.YAMLError("it is nested too deep") from None
