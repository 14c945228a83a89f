"""``postroad whatif`` from the command line to its report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner, Result

from postroad.cli.framework.output import Output
from postroad.cli.main import postroad
from postroad.cli.views.whatif import show_report
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.whatif.report import ChangeReason
from tests.warehouse.bulk.traffic import document, order
from tests.warehouse.whatif.sample_report import report
from tests.warehouse.whatif.written_journal import DAY_US, OCTOBER_US, WrittenJournal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARIFFS = {"standard": [{"from": "2026-01", "currency": "EUR", "message": {"perMessage": "0.01"}}]}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A data folder with traffic of two months, and beside it the change: smaller orders are split too, at twice the price."""
    content = document() | {"billing": {"tariffs": TARIFFS}}
    journal = WrittenJournal(apply_document(content))
    for number in range(12):
        journal.post(order(number, 500 if number % 2 else 5), OCTOBER_US + number * 5 * DAY_US)
    journal.write(tmp_path / "data")
    content["organizations"]["MyBiz"]["services"]["Purchasing"]["rules"][0]["when"]["greaterThan"]["value"] = 100
    content["organizations"]["MyBiz"]["services"]["Purchasing"]["credentials"] = [
        {"label": "x", "keyFrom": "env:UNSET"}
    ]
    dearer = TARIFFS["standard"][0] | {"message": {"perMessage": "0.02"}}
    content["billing"] = {"tariffs": {"standard": [dearer]}}
    (tmp_path / "changed.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


def whatif(network: Path, *arguments: str | Path) -> Result:
    given = ["--data", network / "data", "--config", network / "changed.yaml", *arguments]
    return CliRunner().invoke(postroad, ["whatif", *map(str, given)])


@pytest.mark.req("P6")
def test_the_report_as_json_page_and_rows(spark: SparkSession, network: Path) -> None:
    page, rows = network / "report.html", network / "rows"
    october = ("--from", "2026-10-01", "--to", "2026-11-01")
    done = whatif(network, *october, "--json", "--html", page, "--rows", rows, "--author", "ann@network.example")
    assert done.exit_code == 0, done.output + done.stderr
    told = json.loads(done.output)
    assert told["traffic"] == {"messages": 7, "same": 4, "changed": 3, "undecidable": 0, "refused_then": 0}
    assert told["services"] == [{"service": "Mill/Split", "role": "in transit", "gained": 3, "lost": 0}]
    assert told["bills"] == [
        {"organization": "MyBiz", "currency": "EUR", "before": "0.07", "after": "0.14", "difference": "0.07"}
        | {"beforeInvoiced": "0.07", "afterInvoiced": "0.14"}
    ]
    assert told["examples"][0]["after"] == ["Mill/Split", "Acme/Gate", "Acme/Supply"]
    assert "rule &#x27;large orders are split&#x27; of MyBiz/Purchasing holds" in page.read_text()
    assert re.search(r"Written [-\d]+ [:\d]+ UTC for ann@network\.example\.", page.read_text())
    change = page.read_text().partition("<h2>The tested change</h2><pre>")[2]
    assert "postroad: 1" in change
    kept = spark.read.parquet(str(rows)).where("verdict = 'changed'")
    assert [row["session"] for row in kept.orderBy("seq").collect()] == [one["session"] for one in told["examples"]]


def test_the_report_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(Output(), report(reasons=(ChangeReason(text="because", messages=1),) * 25))
    shown = capsys.readouterr().out
    assert "1200 messages: 150 would take another route, 1000 would not" in shown
    assert "50 cannot be decided" in shown
    assert "3 were refused when posted" in shown
    assert "refused: <script" in shown
    assert "+7.5" in shown
    assert "… and 5 more; --json and --html have them" in shown


def test_a_change_that_cannot_be_applied_is_refused_with_its_faults(network: Path) -> None:
    broken = {"postroad": 1, "organizations": {"MyBiz": {"services": {"Purchasing": {"rules": [{"name": "x"}]}}}}}
    (network / "changed.yaml").write_text(yaml.safe_dump(broken))
    done = whatif(network)
    assert (done.exit_code, "/organizations/MyBiz/services/Purchasing/rules/0" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is nothing to compare"),
        (("--model", "Acme/Regions"), "write it as MODEL=FILE"),
        (("--model", "Acme/Supply=changed.yaml"), "Acme/Supply is not a model"),
    ],
)
def test_what_is_no_change_is_refused(
    network: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(network)
    done = CliRunner().invoke(postroad, ["whatif", "--data", "data", *arguments])
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr


def test_a_folder_without_a_journal_is_refused(network: Path) -> None:
    done = CliRunner().invoke(postroad, ["whatif", "--data", str(network), "--config", str(network / "changed.yaml")])
    assert (done.exit_code, "there is no journal" in done.stderr) == (1, True)
