"""Writes every page that is made from code: ``python -m scripts.reference_pages``; a test compares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from postroad.adapters.index import tables_page
from postroad.api.resources.reference import reference_files
from postroad.cli.reference import reference
from scripts import (
    alert_rules,
    batch_diagram,
    dashboards,
    delivery_diagram,
    journal_kinds_page,
    journey_diagram,
    log_events_page,
    metrics_page,
    notifications_page,
    settings_page,
    warehouse_tables_page,
)

DOCS = Path(__file__).resolve().parents[1] / "docs"
DEPLOY = DOCS.parent / "deploy"

PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "reference" / "settings.md": settings_page.render,
    DOCS / "reference" / "metrics.md": metrics_page.render,
    DOCS / "reference" / "notifications.md": notifications_page.render,
    DOCS / "reference" / "journal-kinds.md": journal_kinds_page.render,
    DOCS / "reference" / "warehouse-tables.md": warehouse_tables_page.render,
    DOCS / "reference" / "tables.md": tables_page.render,
    DOCS / "reference" / "cli.md": reference,
    DOCS / "reference" / "log-events.md": log_events_page.render,
    **{DOCS / "reference" / name: partial(reference_files().__getitem__, name) for name in reference_files()},
    DOCS / "explanation" / "delivery-states.svg": delivery_diagram.render,
    DOCS / "explanation" / "journey.svg": journey_diagram.render,
    DOCS / "explanation" / "batch-states.svg": batch_diagram.render,
    DEPLOY / "prometheus" / "postroad.rules.yml": alert_rules.render_rules,
    DEPLOY / "prometheus" / "postroad.rules.test.yml": alert_rules.render_tests,
    **{DEPLOY / "grafana" / name: partial(dashboards.render, name) for name in dashboards.DASHBOARDS},
}

if __name__ == "__main__":
    for path, render in PAGES.items():
        path.write_text(render())
