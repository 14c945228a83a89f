"""Cases of the W3C's XQuery test suite go through bindings as the suite says they should.

The suite is not part of this repository: ``git clone --depth 1 https://github.com/w3c/qt3tests`` somewhere, and set
``POSTROAD_QT3`` to that folder. Without it, a suite of a few cases in the same form shows that the runner sees what it should.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from tests.interop.qt3_cases import NO_DOCUMENT, Case, read_suite
from tests.interop.qt3_expected import NO, YES
from tests.interop.qt3_suite import run, run_suite
from tests.interop.qt3_variants import variants
from tests.source_tree import ROOT

SUITE = os.environ.get("POSTROAD_QT3", "")
PAGE = ROOT / "docs" / "reference" / "xquery-conformance.md"
GET_IT = (
    "needs the W3C's suite: git clone --depth 1 https://github.com/w3c/qt3tests, and POSTROAD_QT3 set to that folder"
)

CATALOGUE = """<catalog xmlns="http://www.w3.org/2010/09/qt-fots-catalog">
  <environment name="stock"><source role="." file="stock.xml"/><namespace prefix="s" uri="urn:stock"/></environment>
  <test-set name="prod-GeneralComp.eq" file="comparisons.xml"/>
  <test-set name="fn-sort" file="not-selected.xml"/>
</catalog>"""
STOCK = "<stock xmlns='urn:stock'><pear>3</pear><apple>0</apple></stock>"
CASES = {
    "true": ("/s:stock/s:pear = 3", "<assert-true/>"),
    "false": ("/s:stock/s:pear = 4", "<assert-false/>"),
    "zero": ("count(//s:plum)", "<assert-eq>0</assert-eq>"),
    "nodes": ("//s:pear", "<assert-xml><![CDATA[<pear xmlns='urn:stock'>3</pear>]]></assert-xml>"),
    "either": ("/s:stock/* = 'x'", "<any-of><assert-false/><error code='FORG0001'/></any-of>"),
    "raised": ("error()", "<error code='FOER0000'/>"),
    "unwritten": ("1 +", "<error code='XPST0003'/>"),
    "unclear": ("//s:pear/string()", "<assert-type>xs:string</assert-type>"),
    "undeclared": ("$nobody = 1", "<error code='XPST0008'/>"),
}


def write_suite(folder: Path, **cases: tuple[str, str]) -> Path:
    written = "".join(
        f"<test-case name='{name}'><environment ref='stock'/>"
        f"<test><![CDATA[{query}]]></test><result>{result}</result></test-case>"
        for name, (query, result) in cases.items()
    )
    (folder / "catalog.xml").write_text(CATALOGUE)
    (folder / "stock.xml").write_text(STOCK)
    namespace = "http://www.w3.org/2010/09/qt-fots-catalog"
    (folder / "comparisons.xml").write_text(f"<test-set xmlns='{namespace}'>{written}</test-set>")
    return folder


@pytest_asyncio.fixture
async def engine() -> AsyncIterator[SaxonQueries]:
    workers = SaxonWorkers()
    yield SaxonQueries(workers)
    await workers.close()


def test_what_does_not_fit_a_binding_is_left_out_with_a_reason(tmp_path: Path) -> None:
    suite = read_suite(write_suite(tmp_path, **CASES))
    assert len(suite.cases) == len(CASES) - 2
    assert suite.left_out == {
        "prod-GeneralComp.eq/unclear": "its result does not say whether the message goes",
        "prod-GeneralComp.eq/undeclared": "is about a variable that is not declared, which is a header item here",
    }


async def test_the_runner_counts_what_agrees(tmp_path: Path) -> None:
    summary = await run_suite(write_suite(tmp_path, **CASES))
    assert summary.disagreements == []
    assert summary.asked == 9  # seven cases, two of them also negated
    assert summary.refused == 1
    assert summary.standings["shared"] == 5
    assert "9 queries asked" in str(summary)


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("/s:stock/s:pear = 3", "<assert-false/>"),
        ("/s:stock/s:pear = 4", "<assert-true/>"),
        ("//s:plum", "<assert-xml><![CDATA[<plum/>]]></assert-xml>"),
        ("string(//s:pear)", "<assert-empty/>"),
        ("sum(/s:stock/*)", "<error code='FORG0001'/>"),
    ],
)
async def test_the_runner_sees_what_disagrees(tmp_path: Path, query: str, result: str) -> None:
    summary = await run_suite(write_suite(tmp_path, wrong=(query, result)))
    assert {one.who for one in summary.disagreements} == {"matcher", "engine"}


async def test_the_runner_sees_a_query_that_is_refused_and_should_not_be(tmp_path: Path) -> None:
    summary = await run_suite(write_suite(tmp_path, wrong=("1 +", "<assert-eq>1</assert-eq>")))
    assert [(one.who, one.said) for one in summary.disagreements] == [("engine", "refused")]


@pytest.mark.parametrize(
    ("name", "query", "moved", "message"),
    [
        ("fn-contains", "contains('a&amp;''b', 'b')", "contains(/message/part1/value, 'b')", "<value>a&amp;'b</value>"),
        ("op-string-equal", '"a" eq "b"', '/message/part1/value eq "b"', "<value>a</value>"),
        (
            "prod-GeneralComp.eq",
            "(<a>1</a>,<b>2</b>) = 2",
            "/message/part1/value = 2",
            "<value>1</value><value>2</value>",
        ),
        ("prod-ValueComp", "xs:untypedAtomic('x') eq 'x'", "/message/part1/value eq 'x'", "<value>x</value>"),
        (
            "fn-matches.re",
            "exists(tokenize('a,&#44;', ','))",
            "exists(/message/part1/value)",
            "<value>a</value><value></value>",
        ),
    ],
)
def test_values_move_from_the_query_into_the_message(name: str, query: str, moved: str, message: str) -> None:
    case = Case(name=f"{name}/1", query=query, document=NO_DOCUMENT, permitted=YES, is_condition=True)
    _, negated, in_message, _ = variants(case)
    assert (negated.query, negated.permitted) == (f"not(\n{query}\n)", NO)
    assert (in_message.query, in_message.permitted) == (moved, YES)
    assert message in in_message.document.decode()


@pytest.mark.parametrize("query", ["'a' instance of xs:string", "<a/> is <a/>", "true()"])
def test_values_stay_where_more_than_their_text_counts(query: str) -> None:
    case = Case(name="prod-GeneralComp.eq/1", query=query, document=NO_DOCUMENT, permitted=YES, is_condition=True)
    assert [one.document for one in variants(case)] == [NO_DOCUMENT] * 2


async def test_what_several_outcomes_are_permitted_for_may_have_either(engine: SaxonQueries) -> None:
    cases = [Case(name=text, query=text, document=b"<a/>", permitted=YES | NO) for text in ("true()", "false()")]
    assert (await run(cases, engine)).disagreements == []


@pytest.mark.req("X1", "X5")
@pytest.mark.skipif(not SUITE, reason=GET_IT)
async def test_the_suite_of_the_w3c_agrees_with_what_bindings_do() -> None:
    summary = await run_suite(Path(SUITE))
    print(summary)
    assert summary.disagreements == [], str(summary)
    assert f"{summary.asked:,}: " in PAGE.read_text(), "the page no longer says what was asked"
    assert summary.standings["shared"] > 900
    assert summary.standings["prefiltered"] > 300
