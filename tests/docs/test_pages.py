"""Everything that the pages ask their readers to do is done here, in order, against a real network: nothing shown is untried."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from postroad.testing.ports import free_port
from tests.docs.printed import Printed
from tests.docs.snippets import BEFORE, RunPython, Save, Step, Type, steps_of, unrun
from tests.samples.shell import Shell
from tests.samples.spark import QUICK_START
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

# Patterns with words to fill in; tests/acceptance/test_sdk_roundtrip.py and test_cli_*.py run what they describe.
PATTERNS = {"send-and-receive.md", "write-a-consumer.md", "configuration-as-code.md"}
FOLDERS = ("howto", "operate")
GUIDES = [page for name in FOLDERS for page in sorted((ROOT / "docs" / name).glob("*.md")) if page.name not in PATTERNS]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md")), *GUIDES]
RUNNABLE = [page for page in PAGES if steps_of(page)]


def reader(folder: Path, port: int, **more: str) -> dict[str, str]:
    """The environment of somebody who has activated the virtual environment and has nothing else of ours.

    Except for what Java's launcher reads here: on a page's few messages Spark takes a third of the time with it.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROAD_", "PYTEST_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    ours = {"PATH": path, "HOME": str(folder), "COLUMNS": "120", "POSTROAD_PORT": str(port)}
    return kept | ours | {"SPARK_SUBMIT_OPTS": QUICK_START} | more


def carry_out(step: Step, folder: Path, shell: Shell, printed: Printed) -> str:
    """Empty when all went as the page says, else what did not."""
    match step:
        case Save():
            (folder / step.name).write_text(printed.told(step.text))
            return ""
        case RunPython():
            program = folder / "snippet.py"
            program.write_text(printed.told(step.text))
            code, output = shell.run(f"python {program}")
            return f"exit code {code}:\n{output}" if code else ""
        case Type():
            code, output = shell.run(printed.told(step.command))
            fault = f"exit code {code}:\n{output}" if code else printed.differs(step.printed, output)
            return f"$ {step.command}\n{fault}" if fault else ""


def follow(page: Path, folder: Path, **more: str) -> None:
    port, second = free_port(), free_port()
    printed = Printed(
        {"127.0.0.1:8470": f"127.0.0.1:{port}", "127.0.0.1:8471": f"127.0.0.1:{second}", "port=8471": f"port={second}"}
    )
    with Shell(folder, reader(folder, port, **more)) as shell:
        for step in steps_of(page):
            fault = carry_out(step, folder, shell, printed)
            assert not fault, f"{step.place}: {fault}"


@pytest.mark.timeout(900)  # some start Spark several times
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_reader_can_follow_the_page(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    more: dict[str, str] = {}
    text = page.read_text()
    if "$POSTGRES" in text:
        more["POSTGRES"] = request.getfixturevalue("postgres_database")
    if "openssl " in text and not shutil.which("openssl"):
        pytest.skip("this page makes certificates with openssl, which this machine does not have")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    follow(page, tmp_path, **more)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_shows_nothing_untried(page: Path) -> None:
    assert unrun(page.read_text()) == [], "use a console or python block, or say why it is not run"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_where_a_page_begins_is_told_to_its_readers_too(page: Path) -> None:
    text = page.read_text()
    begins = BEFORE.search(text)
    assert begins is None or f"({begins[1]}" in text, f"readers do not see where it begins: link to {begins[1]}"
