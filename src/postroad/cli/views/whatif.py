"""A what-if report on the terminal: totals, then services, reasons and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroad.cli.framework.output import Output

if TYPE_CHECKING:
    from postroad.warehouse.whatif.report import ChangeExample, PortSide, WhatIfReport

MAX_SHOWN = 20  # of a kind; the JSON form and the page have more


def show_report(out: Output, report: WhatIfReport) -> None:
    traffic = report.traffic
    out.print(f"{traffic.messages} messages: {traffic.changed} would take another route, {traffic.same} would not")
    if traffic.undecidable:
        out.print(f"{traffic.undecidable} cannot be decided: rules read bodies that are no longer stored")
    if traffic.refused_then:
        out.print(f"{traffic.refused_then} were refused when posted; they are not stored, and not routed again")
    _table(out, ["SERVICE", "PART", "GAINED", "LOST"], [
        [one.service, one.role, str(one.gained), str(one.lost)] for one in report.services
    ])  # fmt: skip
    _table(out, ["WHY", "MESSAGES"], [[reason.text, str(reason.messages)] for reason in report.reasons])
    _table(out, ["SESSION", "TO", "BEFORE", "AFTER"], [_example_row(one) for one in report.examples])
    _table(out, ["PORT", "SIDE", "MESSAGES", "BATCHES", "EACH", "LARGEST", "WAIT S", "P95", "MOST"], [
        _port_row(port.port, side, told)
        for port in report.ports
        for side, told in (("before", port.before), ("after", port.after))
    ])  # fmt: skip
    for port in report.ports:
        if port.is_changed:
            out.print(f"{port.port}: {port.in_other_batches} messages would be in other batches than before")
    _table(out, ["ORGANIZATION", "CURRENCY", "BEFORE", "AFTER", "DIFFERENCE", "INVOICED BEFORE", "INVOICED AFTER"], [
        [bill.organization, bill.currency, f"{bill.before:,}", f"{bill.after:,}", f"{bill.difference:+,}",
         f"{bill.before_invoiced:,}", f"{bill.after_invoiced:,}"]
        for bill in report.bills
    ])  # fmt: skip


def _port_row(port: str, side: str, told: PortSide) -> list[str]:
    counts = (told.messages, told.batches, told.messages_each, told.largest_bytes)
    waits = (told.wait_s, told.wait_p95_s, told.wait_most_s)
    return [port, side, *(f"{count:,}" for count in counts), *(f"{wait:,.1f}" for wait in waits)]


def _example_row(example: ChangeExample) -> list[str]:
    refused = f"refused: {example.detail}"
    ways = [" -> ".join(way) or refused for way in (example.before, example.after)]
    return [example.session, example.recipient, *ways]


def _table(out: Output, columns: list[str], rows: list[list[str]]) -> None:
    if not rows:
        return
    out.print("")
    out.table(columns, rows[:MAX_SHOWN])
    if len(rows) > MAX_SHOWN:
        out.print(f"… and {len(rows) - MAX_SHOWN} more; --json and --html have them")
