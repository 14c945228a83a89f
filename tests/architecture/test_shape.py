"""Files and functions stay short enough to read, say what they are for, and are named for what they are."""

from __future__ import annotations

import ast

import pytest

from tests.source_tree import Module, modules

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "handler", "handlers", "common", "misc"}


def functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def has_a_word_of(name: str, words: set[str]) -> bool:
    return not words.isdisjoint(name.removesuffix(".py").split("_"))


@pytest.mark.parametrize("module", [module for module in modules() if module.tree.body], ids=lambda module: module.name)
def test_a_module_says_what_it_is_for(module: Module) -> None:
    assert ast.get_docstring(module.tree), "open the module with what it is for and the rule it keeps"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_file_and_its_functions_are_short(module: Module) -> None:
    assert len(module.path.read_text().splitlines()) <= LONGEST_FILE
    long = [f.name for f in functions(module) if (f.end_lineno or f.lineno) - f.lineno >= LONGEST_FUNCTION]
    assert long == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [module.name for module in modules() if has_a_word_of(module.path.name, EMPTY_NAMES)] == []
