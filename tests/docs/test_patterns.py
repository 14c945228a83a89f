"""Pages whose examples have words to fill in are not run, so what can be checked of them without a network is checked here."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.docs.test_commands_named import fault
from tests.docs.test_pages import PATTERNS
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCHEMA = json.loads((ROOT / "docs" / "reference" / "network.schema.json").read_text())
PAGES = [ROOT / "docs" / "howto" / name for name in sorted(PATTERNS)]


def blocks(page: Path, *kinds: str) -> list[str]:
    return [text for kind, text in BLOCKS.findall(page.read_text()) if kind in kinds]


def missing(program: str) -> list[str]:
    """Names that the program imports and that are not there."""
    imports = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.ImportFrom)]
    named = [(import_module(str(node.module)), alias.name) for node in imports for alias in node.names]
    return [name for module, name in named if not hasattr(module, name)]


def faults_of(document: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)]


@pytest.mark.req("N13")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_pattern_shows_is_there(page: Path) -> None:
    programs, configurations = blocks(page, "python"), blocks(page, "yaml")
    lines = [line.removeprefix("$ ") for text in blocks(page, "sh", "console") for line in text.splitlines()]
    commands = [line.removeprefix("postroad ").partition(" > ")[0] for line in lines if line.startswith("postroad ")]
    assert programs or configurations
    assert [name for program in programs for name in missing(program)] == []
    assert [why for text in configurations for why in faults_of(yaml.safe_load(text))] == []
    assert [f"{line}: {why}" for line in commands if (why := fault(line))] == []


def test_what_is_not_there_is_noticed() -> None:
    assert missing("from postroad.client import Client, Klient") == ["Klient"]
    assert faults_of({"postroad": 1, "organizations": {"A": {"servces": {}}}}) != []
