"""Every alert has a runbook with the same headings, and the commands in it work: on a network in that trouble where one can be
brought into it quickly (``tests/samples/troubled_network.py``), else on a healthy one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.core.metrics.alerts import ALERTS, runbook_path
from postroad.testing.ports import free_port
from tests.docs.printed import Printed
from tests.docs.snippets import Step, steps_of, steps_until, unrun
from tests.docs.test_pages import carry_out, reader
from tests.samples.shell import Shell
from tests.samples.situations import SITUATIONS, bring_into_nothing
from tests.samples.troubled_network import TROUBLES, OperatorNetwork
from tests.source_tree import ROOT
from tests.waiting import eventually

pytestmark = pytest.mark.docs

RUNBOOKS = ROOT / "docs" / "runbooks"
PAGES = sorted(page for page in RUNBOOKS.glob("*.md") if page.name != "README.md")
ALERT_PAGES = [page for page in PAGES if page.stem.startswith("Postroad")]
SITUATION_PAGES = [page for page in PAGES if page not in ALERT_PAGES]
TUTORIAL = ROOT / "docs" / "tutorial" / "README.md"
HEADINGS = ["What it means", "See it", "First aid", "Cause and cure", "Who to call"]


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert {page.relative_to(ROOT).as_posix() for page in ALERT_PAGES} == {runbook_path(alert.name) for alert in ALERTS}


def test_the_index_lists_them_with_their_severity() -> None:
    index = (RUNBOOKS / "README.md").read_text()
    rows = [f"| [{alert.name}]({alert.name}.md) | {alert.severity} | {alert.summary} |" for alert in ALERTS]
    assert re.findall(r"^\| \[Postroad.*$", index, re.M) == rows


def test_the_index_lists_the_situations() -> None:
    named = re.findall(r"^\| \[([a-z][a-z-]+)\]\(\1\.md\) \| .+ \|$", (RUNBOOKS / "README.md").read_text(), re.M)
    assert sorted(named) == [page.stem for page in SITUATION_PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_has_the_five_headings(page: Path) -> None:
    text = page.read_text()
    assert text.startswith(f"# {page.stem}: " if page in ALERT_PAGES else "# ")
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


@pytest.mark.parametrize(
    "page", [page for page in ALERT_PAGES if page.stem not in TROUBLES], ids=lambda page: page.stem
)
def test_the_commands_of_a_runbook_work(page: Path, operator: tuple[Path, Shell]) -> None:
    folder, shell = operator
    printed = Printed({})
    for step in steps_of(page):
        fault = carry_out(step, folder, shell, printed)
        assert not fault, f"{step.place}: {fault}"


@pytest.mark.req("O4")
@pytest.mark.parametrize("alert", TROUBLES)
def test_a_runbook_leads_out_of_the_trouble(alert: str, tmp_path: Path) -> None:
    """The first sections are followed in trouble, and the cure after the other side has done its part."""
    page, port = RUNBOOKS / f"{alert}.md", free_port()
    in_trouble = steps_until(page, "first-aid")
    cure = steps_of(page)[len(in_trouble) :]
    printed = Printed({"127.0.0.1:8470": f"127.0.0.1:{port}"})
    with Shell(tmp_path, reader(tmp_path, port, POSTROAD_LEAST_FREE_BYTES="1048576")) as shell:
        network = OperatorNetwork(folder=tmp_path, shell=shell, port=port)
        with TROUBLES[alert](network) as others_do_their_part:
            eventually(lambda: alert in network.firing(1))
            type_all(in_trouble, network, printed)
            others_do_their_part()
            type_all(cure, network, printed)
            eventually(lambda: alert not in network.firing())


@pytest.mark.req("O4")
@pytest.mark.parametrize("page", SITUATION_PAGES, ids=lambda page: page.stem)
def test_a_runbook_leads_out_of_the_situation(page: Path, tmp_path: Path) -> None:
    """The network of the tutorial is brought into the situation before the page begins."""
    port = free_port()
    printed = Printed({"127.0.0.1:8470": f"127.0.0.1:{port}"})
    before = steps_until(TUTORIAL, "order-something")
    with Shell(tmp_path, reader(tmp_path, port, POSTROAD_LEAST_FREE_BYTES="1048576")) as shell:
        network = OperatorNetwork(folder=tmp_path, shell=shell, port=port)
        type_all(before, network, printed)
        SITUATIONS.get(page.stem, bring_into_nothing)(network)
        type_all(steps_of(page)[len(before) :], network, printed)


def type_all(steps: list[Step], network: OperatorNetwork, printed: Printed) -> None:
    for step in steps:
        fault = carry_out(step, network.folder, network.shell, printed)
        assert not fault, f"{step.place}: {fault}"
