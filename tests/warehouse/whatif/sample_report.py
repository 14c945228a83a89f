"""A finished report with something of everything in it, some of it hostile."""

from __future__ import annotations

from postroad.warehouse.whatif.report import (
    BillComparison,
    ChangeExample,
    ChangeReason,
    PortChange,
    PortSide,
    ServiceGain,
    TrafficCounts,
    TrafficDay,
    WhatIfReport,
)

HOSTILE = '<script src="https://evil.example/x.js">&"'


def report(**more: object) -> WhatIfReport:
    given = {
        "begins": "2026-10-01T00:00:00Z",
        "ends": "",
        "baseline": "today",
        "traffic": TrafficCounts(messages=1200, same=1000, changed=150, undecidable=50, refused_then=3),
        "days": tuple(TrafficDay(day=f"2026-10-{day:02}", same=30 + day, changed=day, undecidable=2) for day in range(1, 32)),
        "differences": {"route": 150},
        "services": (
            ServiceGain(service="Mill/Split", role="in transit", gained=150, lost=0),
            ServiceGain(service=HOSTILE, role="recipient", gained=0, lost=20),
        ),
        "reasons": (ChangeReason(text="rule 'a' of A/B holds: it stands after A/B", messages=150),),
        "examples": (
            ChangeExample(
                session="s1", at="2026-10-01T00:00:00Z", sender="A/B", topic="order", recipient="C/D", difference="refused",
                before=("C/D",), after=(), reasons=("refused: x",), detail=HOSTILE,
            ),
        ),
        "bills": (
            BillComparison(organization="Acme", currency="EUR", before_micros=12_500_000, after_micros=20_000_000,
                 before_invoiced_micros=12_500_000, after_invoiced_micros=20_010_000),
            BillComparison(organization="Mill", currency="EUR", before_micros=0, after_micros=-5_250_000),
        ),
        "ports": (
            PortChange(
                port=HOSTILE, before=PortSide(messages=100, batches=4, wait_s=1800.0), after=PortSide(messages=100, batches=50),
                in_other_batches=97,
            ),
        ),
    }  # fmt: skip
    return WhatIfReport(**(given | more))  # type: ignore[arg-type]
