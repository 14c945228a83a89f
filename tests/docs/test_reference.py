"""Nothing that users can meet is missing in the reference, and nothing that is made from code is out of date."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from postroad.bootstrap.settings import OTHER_VARIABLES, Settings
from postroad.cli.main import postroad
from postroad.core.model.delivery import MOVES, DeliveryState
from postroad.core.model.journal import KINDS
from postroad.core.model.refusals import REFUSALS
from postroad.core.projection.tables import TABLES
from scripts.reference_pages import PAGES
from tests.source_tree import PACKAGE, ROOT

pytestmark = pytest.mark.docs

DOCS = ROOT / "docs"
INDEXED = ("tutorial", "howto", "operate", "reference", "explanation", "runbooks")
MAX_ARCHITECTURE_WORDS = 1_200
CODE_PAGES = (ROOT / "ARCHITECTURE.md", DOCS / "howto" / "find-the-code.md")
CODE_PATH = re.compile(r"(?<![\w./])((?:\w+/)*\w+\.py)\b|`(\w+(?:/\w+)+)/?`")
TEST_ID = re.compile(r"`((?:tests|src)/[\w/]+\.py)(?:::(\w+))?`")


def commands(group: click.Group, name: str) -> Iterator[str]:
    """Every command below the group, as it is typed; without hidden ones, the old names."""
    context = click.Context(group)
    for child in group.list_commands(context):
        found = group.get_command(context, child)
        if isinstance(found, click.Group):
            yield from commands(found, f"{name} {child}")
        elif found is not None and not found.hidden:
            yield f"{name} {child}"


def missing(names: list[str], page: Path, form: str = "{}") -> list[str]:
    """The names that the page does not hold as a word of their own."""
    text = page.read_text()
    return [name for name in names if not re.search(rf"(?<![\w.-]){re.escape(form.format(name))}(?![\w.-])", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_made_from_code_is_current(page: Path) -> None:
    assert page.read_text() == PAGES[page](), "run: python -m scripts.reference_pages"


def test_every_setting_is_documented() -> None:
    assert missing([field.name for field in fields(Settings)], DOCS / "reference" / "settings.md", "| `{}`") == []


def test_every_setting_says_what_it_is_for() -> None:
    assert (
        re.findall(
            r"^\| `(\w+)` \|[^|]*\| +(?:\(a secret\) )?\|$", (DOCS / "reference" / "settings.md").read_text(), re.M
        )
        == []
    )


def test_variables_of_clients_are_documented() -> None:
    clients = [name for name in OTHER_VARIABLES if name in ("url", "key", "key_file")]
    assert missing([f"POSTROAD_{name.upper()}" for name in clients], DOCS / "reference" / "settings.md") == []


def test_every_error_code_is_documented() -> None:
    assert missing(list(REFUSALS), DOCS / "reference" / "errors.md", "### {}") == []


def test_every_kind_of_journal_entry_is_documented() -> None:
    assert missing(list(KINDS), DOCS / "reference" / "journal-kinds.md", "## {}") == []


def test_every_command_is_documented() -> None:
    assert missing(list(commands(postroad, "postroad")), DOCS / "reference" / "cli.md") == []


def test_every_table_is_documented() -> None:
    assert missing(list(TABLES), DOCS / "reference" / "tables.md", "## {}") == []


def test_every_state_and_move_of_a_delivery_is_explained() -> None:
    page = DOCS / "explanation" / "delivery.md"
    assert missing([state.name.lower() for state in DeliveryState], page) == []
    assert missing([move for moves in MOVES.values() for move in moves], page, "| {} |") == []


def test_the_check_sees_what_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| `port` | and delivery.ended, but `portal`")
    assert missing(["port", "host"], page, "| `{}`") == ["host"]
    assert missing(["delivery", "ended", "delivery.ended"], page) == ["delivery", "ended"]


def defined_tests(path: Path) -> set[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)}


@pytest.mark.parametrize("page", sorted((DOCS / "explanation").glob("*.md")), ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = [(ROOT / file, test) for file, test in TEST_ID.findall(page.read_text())]
    absent = [
        f"{path.relative_to(ROOT)}::{test}"
        for path, test in named
        if not path.is_file() or (test and test not in defined_tests(path))
    ]
    assert absent == []


def test_each_promise_names_its_tests() -> None:
    sections = (DOCS / "explanation" / "promises.md").read_text().split("\n## ")[1:]
    assert [section[:2] for section in sections] == ["1.", "2.", "3.", "4.", "5."]
    assert all(TEST_ID.search(section) for section in sections)


@pytest.mark.parametrize("folder", INDEXED)
def test_every_page_is_in_the_index_of_its_folder(folder: str) -> None:
    index = (DOCS / folder / "README.md").read_text()
    pages = [
        path.name for path in (DOCS / folder).iterdir() if path.suffix in (".md", ".json") and path.name != "README.md"
    ]
    assert [name for name in pages if f"]({name})" not in index] == []


def packages(*parents: str) -> list[str]:
    """Return the packages that hold code, with the parts of those parents in place of the parents."""
    folders = [*PACKAGE.iterdir(), *(part for parent in parents for part in (PACKAGE / parent).iterdir())]
    with_code = [folder for folder in folders if any(path.stat().st_size for path in folder.rglob("*.py"))]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in with_code if path.name not in parents)


def test_every_package_is_in_the_architecture() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Packages")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+)` \|", table, re.M)
    assert packages(), "no packages were found"
    assert sorted(named) == packages("core")


def test_every_adapter_is_listed_in_its_package() -> None:
    listed = re.findall(r"^- ``(\w+)``: ", (PACKAGE / "adapters" / "__init__.py").read_text(), re.M)
    assert sorted(f"adapters/{name}" for name in listed) == [
        name for name in packages("adapters") if name.startswith("adapters/")
    ]


def test_the_architecture_is_two_printed_pages() -> None:
    assert 600 < len((ROOT / "ARCHITECTURE.md").read_text().split()) <= MAX_ARCHITECTURE_WORDS


def missing_code(text: str) -> list[str]:
    """The paths of modules and packages in the text that exist neither in the package nor in the repository."""
    paths = [module or package for module, package in CODE_PATH.findall(text)]
    return [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()]


@pytest.mark.parametrize("page", CODE_PAGES, ids=lambda page: page.name)
def test_every_code_path_exists(page: Path) -> None:
    text = page.read_text()
    assert len(CODE_PATH.findall(text)) > 20
    assert missing_code(text) == []


def test_the_check_sees_a_missing_code_path() -> None:
    text = (
        "`core/model`, `core/rooms`, see `flow/network.py`, `flow/life.py`, batch_book.py and `tests/samples/shell.py`"
    )
    assert missing_code(text) == ["core/rooms", "flow/life.py", "batch_book.py"]
