"""Reports as people read them: plots, tables and files of what is theirs; and what they are told where nothing is counted yet."""

from __future__ import annotations

import csv
from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD, counted, register_organization
from tests.samples.counted import STRANGE

NAMES = ("usage", "latency", "errors", "partners", "batches")


@pytest.mark.req("C1", "P4")
def test_the_reports_of_an_organization(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    ivy = register_organization(demo, person, "Sorrel & Sons", "sorrel@sorrel.example")
    counted(demo, ivy)
    person.page.click("nav >> text=Reports")
    person.page.wait_for_selector(".plot canvas")
    assert "Sorrel & Sons/buyer" in person.text()
    for name in NAMES:
        person.go(f"/reports/{name}")
        person.page.wait_for_selector(".plot canvas")
        assert "99,999" not in person.text()
        assert "secret" not in person.text()
        if name in ("usage", "latency", "batches"):  # bars, lines, and the widest table
            person.snap(f"report-{name}")
    person.go("/reports/usage")
    person.page.set_viewport_size({"width": 390, "height": 800})
    person.page.wait_for_selector(".plot canvas")
    person.page.wait_for_timeout(200)
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 390
    person.snap("report-usage-phone")
    person.page.emulate_media(color_scheme="dark")
    person.page.wait_for_selector(".plot canvas")
    person.picture(person.pictures / "report-usage-dark.png", full_page=True)


def test_a_plot_of_latencies_shows_small_values_beside_large_ones(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    counted(demo, register_organization(demo, person, "Damson Ltd", "damson@damson.example"))
    told = person.page.request.get(f"{demo.url}/reports/latency/plot.json").json()
    told["curves"][0]["values"][-1] = 6_430_677.2
    person.page.route("**/reports/latency/plot.json*", lambda route: route.fulfill(json=told))
    person.go("/reports/latency")
    person.page.wait_for_selector(".plot canvas")
    plot = "document.querySelector('.plot').plot"
    labels = [label for label in person.page.evaluate(f"{plot}.axes[1]._values") if label]
    assert labels[0] == "10 ms"
    assert labels[-1] == "2.8 h"
    room, width = person.page.evaluate(
        f"""(() => {{
          const context = document.createElement('canvas').getContext('2d');
          context.font = {plot}.axes[1].font[0];
          const widths = {plot}.axes[1]._values.map((label) => context.measureText(label || '').width);
          return [{plot}.axes[1]._size * devicePixelRatio, Math.max(...widths)];
        }})()"""
    )
    assert width < room, "a label is cut off"
    least, large = person.page.evaluate(f"[94, 6430677].map((value) => {plot}.valToPos(value, 'y'))")
    assert least < person.page.evaluate(f"{plot}.bbox.height / devicePixelRatio") - 20, "usual values lie on the axis"
    assert large < least


def test_nothing_of_others_and_files_for_spreadsheets(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor(scripts=False)
    holly = register_organization(demo, person, "Quince Ltd", "quince@quince.example")
    known = counted(demo, holly)
    person.go("/reports/errors?organization=MyBiz&from=nonsense&to=2999-99-99")
    assert "wire.malformed" in person.text()
    assert person.page.locator(".plot:visible").count() == 0
    person.page.click("summary")
    assert str(known.days[-1]) in person.text()
    for name in NAMES:
        told = person.page.request.get(f"{demo.url}/reports/{name}/plot.json")
        assert told.headers["content-type"] == "application/json"
        assert "secret" not in told.text()
        for file in ("table", "days"):
            answer = person.page.request.get(f"{demo.url}/reports/{name}/{file}.csv?organization=")
            assert answer.headers["content-disposition"].startswith("attachment")
            assert "secret" not in answer.text()
    rows = _csv(person, "usage")
    assert ["Quince Ltd/buyer", "sent", "520", "220000"] in rows
    partners = _csv(person, "partners")
    assert ["to", "XpandiCo", "20", "20", "14000", "0"] in partners
    assert ["from", f"'{STRANGE}", "10", "10", "7000", "0"] in partners, "what a spreadsheet would take for a formula"
    assert ["from", "(forwarded to you)", "10", "10", "7000", "10"] in partners, (
        "who stands behind is not theirs to know"
    )
    batches = dict(zip(*_csv(person, "batches"), strict=True))
    assert (batches["batches"], batches["suspended"], batches["waiting s"]) == ("30", "10", "2.0")
    person.refusals_expected = True
    person.go("/reports/salaries")
    assert "There is nothing" in person.text() or "not found" in person.text().lower()


def test_operators_see_all_and_choose(
    operator: Callable[[], Person], visitor: Callable[..., Person], demo: Demo
) -> None:
    linden = register_organization(demo, visitor(scripts=False), "Tansy Ltd", "tansy@tansy.example")
    counted(demo, linden)
    person = operator()
    person.go("/reports/usage")
    person.page.wait_for_selector(".plot canvas")
    assert STRANGE in person.text()
    person.page.select_option("#organization", "Tansy Ltd")
    person.page.click("button:has-text('Show')")
    assert "Usage of Tansy Ltd" in person.text()
    assert STRANGE not in person.text()
    person.go("/reports/partners")
    person.page.wait_for_selector(".plot canvas")
    person.snap("report-operator")


def test_says_what_to_do_where_nothing_is_counted_yet(
    operator: Callable[[], Person], visitor: Callable[..., Person], demo: Demo
) -> None:
    member, person = visitor(scripts=False), operator()
    member.register("Oleander Ltd", "oleander@oleander.example", PASSWORD)
    tables, aside = demo.data / "warehouse", demo.data / "aside"
    tables.mkdir(exist_ok=True)
    tables.rename(aside)
    try:
        for path in ("/reports", "/reports/batches", "/billing"):
            member.go(path)
            assert "The network's operators set up the warehouse" in member.text()
            person.go(path)
            assert "postroad pipeline run" in person.text()
        person.snap("reports-missing")
        assert member.page.request.get(f"{demo.url}/reports/usage/plot.json").status == 404
    finally:
        aside.rename(tables)


def _csv(person: Person, name: str) -> list[list[str]]:
    text = person.page.request.get(f"{person.url}/reports/{name}/table.csv").text()
    return list(csv.reader(text.splitlines()))
