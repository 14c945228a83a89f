"""The report as a page: complete, escaped, and in need of nothing from elsewhere."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser

from postroad.core.codecs import xml
from postroad.warehouse.whatif.page import render_page
from postroad.warehouse.whatif.report import TrafficCounts
from postroad.warehouse.whatif.report_tables import fill_days
from tests.warehouse.whatif.sample_report import HOSTILE, report


class Seen(HTMLParser):
    """Every tag with its attributes, and whether all were closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_has_everything_and_needs_nothing() -> None:
    seen = Seen(render_page(report()))
    assert seen.open == []
    names = [tag for tag, _ in seen.tags]
    assert names.count("svg") == 4
    assert not {"script", "link", "img", "iframe"} & set(names)
    assert not [attributes for _, attributes in seen.tags if {"src", "href", "onload"} & set(attributes)]
    for words in (
        "1,200",
        "take another route",
        "Mill/Split",
        "rule 'a' of A/B",
        "12.5",
        "-5.25",
        "+7.5",
        "s1",
        "1,800.0",
        "97 messages",
    ):
        assert words in seen.words
    assert seen.words.count(HOSTILE) >= 2


def test_charts_are_well_formed_and_within_their_bounds() -> None:
    text = render_page(report())
    start = text.index("<svg")
    while start >= 0:
        end = text.index("</svg>", start) + len("</svg>")
        chart = xml.parse(text[start:end].encode())
        _, _, width, height = map(float, chart.attrib["viewBox"].split())
        for bar in [one for one in chart if one.tag.endswith("rect")]:
            x, y, w, h = (float(bar.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + w <= width + 0.2
            assert y + h <= height + 0.2
        start = text.find("<svg", end)


def test_a_report_without_changes_is_a_short_page() -> None:
    nothing: tuple[object, ...] = ()
    quiet = report(
        days=nothing, services=nothing, reasons=nothing, examples=nothing, bills=nothing, ports=nothing,
        traffic=TrafficCounts(), baseline="then",
    )  # fmt: skip
    seen = Seen(render_page(quiet))
    assert "what really happened" in seen.words
    assert "svg" not in [tag for tag, _ in seen.tags]


def test_days_without_messages_are_days_too() -> None:
    first, third = date(2026, 10, 30), date(2026, 11, 1)
    days = fill_days({third: {"same": 2}, first: {"same": 1, "changed": 3}})
    assert [(one.day, one.same, one.changed) for one in days] == [
        ("2026-10-30", 1, 3),
        ("2026-10-31", 0, 0),
        ("2026-11-01", 2, 0),
    ]
    assert fill_days({}) == ()
    assert [one.day for one in fill_days({date(1970, 1, 1): {}, first: {}})] == ["1970-01-01", "2026-10-30"]


def test_the_page_says_what_was_tried_and_sums_up_the_bills() -> None:
    text = render_page(report(), "organizations: {Mill: {}}", "Written 2026-11-18 09:00 UTC")
    assert "organizations: {Mill: {}}" in text
    assert "Written 2026-11-18 09:00 UTC" in text
    assert "Total" in text
    assert re.search(r"[+-]\d+\.\d %", text)
    assert "Before and after are exact sums of charges. Invoiced amounts are what invoices would total" in text
    assert "applies today&#x27;s rules and prices" in text
    assert "today&#x27;s rules" not in render_page(report(baseline="then")).partition("The bill")[2]
    [row] = re.findall(r"<tr><td>Acme</td>.*?</tr>", text)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", row)[2:] == [
        "12.5000",
        "20.0000",
        "+7.5000",
        "+60.0 %",
        "12.50",
        "20.01",
    ]
