"""Test folders: each kind of test stands on its own, and unit tests lie where the package has what they test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.source_tree import PACKAGE, ROOT, Module

TESTS = ROOT / "tests"
SHARED = {"samples"}


def foreign_imports(path: Path, source: str) -> list[str]:
    """Return the names that a file imports from another kind of test; all may import `tests/samples` and top-level modules."""
    own = path.relative_to(TESTS).parts[0]
    imported = [name.split(".") for name in Module(path=path, tree=ast.parse(source)).imported_names()]
    kinds = {folder.name for folder in TESTS.iterdir() if folder.is_dir()} - SHARED - {own}
    return [".".join(name) for name in imported if name[0] == "tests" and len(name) > 1 and name[1] in kinds]


def test_no_kind_of_test_imports_another() -> None:
    files = [path for folder in TESTS.iterdir() if folder.is_dir() for path in folder.rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): foreign_imports(path, path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("folder", "source", "expected"),
    [
        ("interop", "from tests.unit.flow.push.test_push import ACME", ["tests.unit.flow.push.test_push.ACME"]),
        ("samples", "def late():\n    import tests.faults.ledger", ["tests.faults.ledger"]),
        ("unit", "from tests import property", ["tests.property"]),
        ("unit", "from tests.samples.x12 import ORDER\nfrom tests.waiting import eventually", []),
        ("unit", "from tests.unit.flow.polls import Polls", []),
    ],
)  # fmt: skip
def test_imports_of_another_kind_are_found(folder: str, source: str, expected: list[str]) -> None:
    assert foreign_imports(TESTS / folder / "test_it.py", source) == expected


def test_unit_test_folders_have_the_names_of_packages() -> None:
    unit = TESTS / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert [folder.as_posix() for folder in sorted(folders) if not (PACKAGE / folder).is_dir()] == []
    assert not list(unit.glob("*.py")), "tests of a package belong in the folder of that package"
