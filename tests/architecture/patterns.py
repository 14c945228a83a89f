"""Finds regular expressions that early Python 3.11 reads wrongly: possessive or atomic over more than one character.

Debian 12 ships Python 3.11.2. There a possessive repetition of a group matches too much or too little, without any error; with
a capturing group inside it raises SystemError in later versions too. Over a single character or class it is right everywhere.

Run as a program, this module imports every module of the package and prints what it finds in the expressions compiled meanwhile.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

Text = str | bytes
_SINGLE = {"LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY", "RANGE"}
# A closing parenthesis that is neither escaped nor the second of an empty pair, as in a list of punctuation.
_POSSESSIVE = ("*+", "++", "?+", "}+", "?>")
_FRAGMENT = re.compile(r"(?<![\\(])\)(?:[*+?]|\{[0-9,]*\})\+|\(\?>")


def unsafe_parts(pattern: Text, flags: int = 0) -> list[str]:
    """Name the possessive and atomic groups of a regular expression; nothing for a text that is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return []
    return list(_unsafe(parsed))


def _unsafe(parsed: object) -> Iterator[str]:
    if isinstance(parsed, _parser.SubPattern):
        for operator, argument in parsed:
            if str(operator) == "ATOMIC_GROUP" or (
                str(operator) == "POSSESSIVE_REPEAT" and not _is_single(argument[2])
            ):
                yield str(operator)
            yield from _unsafe(argument)
    elif isinstance(parsed, tuple | list):
        for one in parsed:
            yield from _unsafe(one)


def _is_single(repeated: object) -> bool:
    """Whether one character is repeated. Nothing at all counts too: ``()*+`` is a list of punctuation, not a pattern."""
    items = list(repeated)  # type: ignore[call-overload]
    return len(items) == 1 and (str(items[0][0]) in _SINGLE or _is_empty_group(items[0]))


def _is_empty_group(item: tuple[object, tuple[object, ...]]) -> bool:
    operator, argument = item
    return str(operator) == "SUBPATTERN" and not list(argument[-1])  # type: ignore[call-overload]


def unsafe_literals(source: str) -> list[str]:
    """The literals of a module that are such expressions, or pieces of which such an expression is put together."""
    found = []
    for node in ast.walk(ast.parse(source)) if _may_be_possessive(source) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, Text):
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if _may_be_possessive(text) and (unsafe_parts(node.value) or _FRAGMENT.search(text)):
                found.append(f"line {node.lineno}: {text[:80]!r}")
    return found


def _may_be_possessive(text: str) -> bool:
    return any(mark in text for mark in _POSSESSIVE)


def watch_compiler() -> list[str]:
    """From now on, every unsafe expression that Python compiles is added to the list returned."""
    found: list[str] = []
    compile_pattern = _compiler.compile

    def watched(pattern: object, flags: int = 0) -> Any:
        if isinstance(pattern, Text) and unsafe_parts(pattern, int(flags)):
            found.append(repr(pattern)[:200])
        return compile_pattern(pattern, flags)

    _compiler.compile = watched
    return found


def import_everything() -> None:
    package = importlib.import_module("postroad")
    for module in pkgutil.walk_packages(package.__path__, "postroad."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    seen = watch_compiler()
    import_everything()
    print("\n".join(seen))
    sys.exit(bool(seen))
