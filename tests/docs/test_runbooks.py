"""Every alert has a runbook with the same headings, and the commands in it work on a running network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.core.metrics.alerts import ALERTS, runbook_path
from postroad.testing.ports import free_port
from tests.docs.printed import Printed
from tests.docs.shell import Shell
from tests.docs.snippets import steps_of, unrun
from tests.docs.test_pages import carry_out, reader
from tests.source_tree import ROOT
from tests.waiting import eventually

pytestmark = pytest.mark.docs

RUNBOOKS = ROOT / "docs" / "runbooks"
PAGES = sorted(page for page in RUNBOOKS.glob("*.md") if page.name != "README.md")
HEADINGS = ["What it means", "See it", "First aid", "Cause and cure", "Who to call"]


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert {page.relative_to(ROOT).as_posix() for page in PAGES} == {runbook_path(alert.name) for alert in ALERTS}


def test_the_index_lists_them_with_their_severity() -> None:
    index = (RUNBOOKS / "README.md").read_text()
    rows = [f"| [{alert.name}]({alert.name}.md) | {alert.severity} | {alert.summary} |" for alert in ALERTS]
    assert re.findall(r"^\| \[.*$", index, re.M) == rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_has_the_five_headings(page: Path) -> None:
    text = page.read_text()
    assert text.startswith(f"# {page.stem}: ")
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS
    assert all(len(section.strip()) > 20 for section in re.split(r"^## .+$", text, flags=re.M)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_shows_nothing_untried(page: Path) -> None:
    assert unrun(page.read_text()) == []
    assert steps_of(page), "it shows no command"


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Shell]]:
    """The folder and shell of an operator, whose network runs."""
    folder = tmp_path_factory.mktemp("operator")
    with Shell(folder, reader(folder, free_port(), POSTROAD_LEAST_FREE_BYTES="1048576")) as shell:
        assert shell.run("postroad serve >server.log 2>&1 &")[0] == 0
        eventually(lambda: (folder / "var" / "postroad" / "url").exists())
        yield folder, shell


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_runbook_work(page: Path, operator: tuple[Path, Shell]) -> None:
    folder, shell = operator
    printed = Printed({})
    for step in steps_of(page):
        fault = carry_out(step, folder, shell, printed)
        assert not fault, f"{step.place}: {fault}"
