"""A what-if report as one self-contained HTML page: tables and charts, no script.

Rule: all text from messages or configuration is escaped, because the page may be sent by e-mail and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

from postroad.warehouse.whatif.report import (
    BillComparison,
    ChangeExample,
    PortChange,
    WhatIfReport,
    bill_notes,
    sum_bills,
)
from postroad.warehouse.whatif.svg_charts import Series, draw_legend, draw_paired_bars, draw_stacked_days

SAME, CHANGED, UNDECIDABLE = "#9db4c0", "#c8553d", "#e3c567"
BEFORE, AFTER = "#5c6b73", "#2a7f62"
GAINED, LOST = "#2a7f62", "#c8553d"
DECIMALS = 4  # of amounts, which are exact to the micro-unit in the JSON report
BILL_COLUMNS = (
    *("Organization", "Currency", "Before", "After", "Difference", "Per cent", "Invoiced before", "Invoiced after"),
)
MAX_DRAWN = 25  # maximum services and organizations in a chart; the table has all

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2b33; max-width: 900px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid #dde4e8; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; } .cards div { flex: 1 1 8rem; background: #f3f6f8; padding: 0.7rem 1rem; }
.cards b { display: block; font-size: 1.5rem; } .legend span { margin-right: 1.2rem; }
.legend i { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.4em; }
svg text { font: 12px system-ui, sans-serif; fill: #1d2b33; } svg line { stroke: #b6c2c9; } .quiet { color: #5c6b73; }
@media (prefers-color-scheme: dark) { body { background: #14191c; color: #dbe4e8; } .cards div { background: #1f272b; }
svg text { fill: #dbe4e8; } th, td { border-color: #2b363c; } .quiet { color: #93a4ad; } }
"""


def render_page(report: WhatIfReport, change: str = "", made: str = "") -> str:
    """Return the report as HTML; ``change`` is the text of the tested change, ``made`` its time and author."""
    sections = [_traffic_html(report), _services_html(report), _reasons_html(report), _examples_html(report.examples)]
    sections += [_ports_html(report.ports), _bills_html(report), _change_html(change)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>What if</title><style>{STYLE}</style></head><body><h1>What if</h1>{_question_html(report, made)}"
        f"{''.join(sections)}</body></html>\n"
    )


def _question_html(report: WhatIfReport, made: str) -> str:
    window = f"{report.begins or 'the beginning'} to {report.ends or 'now'}"
    against = "what really happened" if report.baseline == "then" else "today's rules and prices"
    when = f" {escape(made)}." if made else ""
    return f'<p class="quiet">Traffic posted from {escape(window)}, compared with {against}.{when}</p>'


def _change_html(change: str) -> str:
    return f"<h2>The tested change</h2><pre>{escape(change)}</pre>" if change else ""


def _traffic_html(report: WhatIfReport) -> str:
    traffic = report.traffic
    cards = [
        ("messages", traffic.messages), ("take another route", traffic.changed), ("are unchanged", traffic.same),
        ("cannot be decided", traffic.undecidable), ("were refused then, and are not kept", traffic.refused_then),
    ]  # fmt: skip
    shown = "".join(f"<div><b>{count:,}</b>{escape(name)}</div>" for name, count in cards)
    series = [
        Series("take another route", CHANGED, [Decimal(day.changed) for day in report.days]),
        Series("cannot be decided", UNDECIDABLE, [Decimal(day.undecidable) for day in report.days]),
        Series("are unchanged", SAME, [Decimal(day.same) for day in report.days]),
    ]
    chart = draw_stacked_days("Messages a day", [day.day for day in report.days], series) + draw_legend(series)
    return f'<h2>Messages</h2><div class="cards">{shown}</div>' + (chart if report.days else "")


def _services_html(report: WhatIfReport) -> str:
    if not report.services:
        return ""
    drawn = report.services[:MAX_DRAWN]
    series = [
        Series("copies gained", GAINED, [Decimal(one.gained) for one in drawn]),
        Series("copies lost", LOST, [Decimal(one.lost) for one in drawn]),
    ]
    chart = draw_paired_bars("Copies gained and lost", [f"{one.service} ({one.role})" for one in drawn], series)
    rows = [(one.service, one.role, f"{one.gained:,}", f"{one.lost:,}") for one in report.services]
    table = _table_html(("Service", "Part", "Gained", "Lost"), rows, numbers=2)
    return f"<h2>Who gets more, who gets less</h2>{chart}{draw_legend(series)}{table}"


def _reasons_html(report: WhatIfReport) -> str:
    if not report.reasons:
        return ""
    rows = [(reason.text, f"{reason.messages:,}") for reason in report.reasons]
    return f"<h2>Why</h2>{_table_html(('Reason', 'Messages'), rows, numbers=1)}"


def _examples_html(examples: Sequence[ChangeExample]) -> str:
    if not examples:
        return ""
    rows = [
        (one.session, f"{one.sender} to {one.recipient}", _route_html(one.before, one), _route_html(one.after, one),
            "; ".join(one.reasons))
        for one in examples
    ]  # fmt: skip
    return f"<h2>Examples</h2>{_table_html(('Session', 'Message', 'Before', 'After', 'Why'), rows)}"


def _route_html(services: tuple[str, ...], example: ChangeExample) -> str:
    return " → ".join(services) if services else f"refused: {example.detail}"


def _ports_html(ports: Sequence[PortChange]) -> str:
    if not ports:
        return ""
    drawn = ports[:MAX_DRAWN]
    series = [
        Series("batches before", BEFORE, [Decimal(one.before.batches) for one in drawn]),
        Series("batches after", AFTER, [Decimal(one.after.batches) for one in drawn]),
    ]
    chart = draw_paired_bars("Batches before and after", [one.port for one in drawn], series)
    sides = [(one, name, told) for one in ports for name, told in (("before", one.before), ("after", one.after))]
    rows = [
        (one.port, name, f"{told.messages:,}", f"{told.alone:,}", f"{told.batches:,}", f"{told.messages_each:,}",
         f"{told.largest_bytes:,}", f"{told.wait_s:,.1f}", f"{told.wait_p95_s:,.1f}", f"{told.wait_most_s:,.1f}")
        for one, name, told in sides
    ]  # fmt: skip
    columns = ("Port", "", "Messages", "Alone", "Batches", "Each", "Largest", "Wait s", "p95", "Most")
    moved = "".join(
        f"<p>{escape(one.port)}: {one.in_other_batches:,} messages would leave with others.</p>" for one in ports
    )
    return f"<h2>Send ports</h2>{chart}{draw_legend(series)}{_table_html(columns, rows, numbers=8)}{moved}"


def _bills_html(report: WhatIfReport) -> str:
    bills = report.bills
    if not bills:
        return ""
    drawn = sorted(bills, key=lambda bill: -abs(bill.difference))[:MAX_DRAWN]
    series = [
        Series("before", BEFORE, [bill.before for bill in drawn]),
        Series("after", AFTER, [bill.after for bill in drawn]),
    ]
    chart = draw_paired_bars(
        "Bills before and after", [f"{bill.organization} ({bill.currency})" for bill in drawn], series
    )
    rows = [_bill_row(bill) for bill in [*bills, *sum_bills(bills)]]
    table = _table_html(BILL_COLUMNS, rows, numbers=6)
    return f'<h2>The bill</h2>{chart}{draw_legend(series)}{table}<p class="quiet">{escape(bill_notes(report.baseline))}</p>'


def _bill_row(bill: BillComparison) -> tuple[str, ...]:
    share = f"{100 * bill.difference / abs(bill.before):+,.1f} %" if bill.before else ""
    amounts = (f"{bill.before:,.{DECIMALS}f}", f"{bill.after:,.{DECIMALS}f}", f"{bill.difference:+,.{DECIMALS}f}")
    invoiced = (f"{bill.before_invoiced:,}", f"{bill.after_invoiced:,}")
    return (bill.organization, bill.currency, *amounts, share, *invoiced)


def _table_html(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return an HTML table; the last ``numbers`` columns are right-aligned numbers."""
    texts = len(columns) - numbers
    body = "".join(f"<tr>{_cells_html(row, 'td', texts)}</tr>" for row in rows)
    return f"<table><tr>{_cells_html(columns, 'th', texts)}</tr>{body}</table>"


def _cells_html(values: Sequence[str], tag: str, texts: int) -> str:
    kinds = ["" if place < texts else ' class="number"' for place in range(len(values))]
    return "".join(f"<{tag}{kind}>{escape(value)}</{tag}>" for kind, value in zip(kinds, values, strict=True))
