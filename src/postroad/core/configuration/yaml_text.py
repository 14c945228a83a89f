"""Configuration as YAML that people like to read: texts of several lines, such as stylesheets, stand as those lines."""

from __future__ import annotations

from typing import Any

import yaml

WIDTH = 120


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
