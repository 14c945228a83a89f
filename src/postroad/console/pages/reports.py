"""The report pages: usage, latency, errors, partners and batches as plots, tables and files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.adapters.marts.tables import ALL, MissingMarts, RowFilter, run_query
from postroad.console.context import caller_of, console_of
from postroad.console.downloads import csv_file, json_response
from postroad.console.page_guards import member_page, render_page
from postroad.console.reports import REPORTS, MartReport
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.base import not_found

USUAL_DAYS = 30
MAX_DAYS = 400
MAX_ROWS = 200
SECOND_US = 1_000_000


async def reports(request: Request) -> Response:
    return RedirectResponse("/reports/usage", 303)


async def show_report(request: Request) -> Response:
    asked, name = requested_rows(request), _name(request)
    values = {
        "name": name,
        "names": tuple(REPORTS),
        "asked": asked,
        "wish": f"?{urlencode(_query_of(asked))}",
        "organizations": list_organizations(request),
    }
    try:
        found = await _make_report(request, name, asked)
    except MissingMarts as missing:
        return render_page(request, "reports_missing.html", values | {"missing": missing})
    rows = found.rows[:MAX_ROWS]
    more = {
        "report": found,
        "rows": rows,
        "left_out": len(found.rows) - len(rows),
        "table": table_cells(found.columns, rows),
    }
    return render_page(request, "reports.html", values | more)


async def plot(request: Request) -> Response:
    return json_response((await _find_report(request)).plot.as_value())


async def table_file(request: Request) -> Response:
    found = await _find_report(request)
    return csv_file(_name(request), found.columns, found.rows)


async def days_file(request: Request) -> Response:
    found = (await _find_report(request)).plot
    return csv_file(f"{_name(request)}-by-day", found.columns, found.rows)


def requested_rows(request: Request) -> RowFilter:
    """Return the requested organization and days; invalid values become the defaults."""
    today = datetime.fromtimestamp(console_of(request).now_us / SECOND_US, UTC).date()
    last = _day(request.query_params.get("to", "")) or today
    first = _day(request.query_params.get("from", "")) or last - timedelta(days=USUAL_DAYS - 1)
    if first > last:
        first, last = last, first
    return RowFilter(
        organization=requested_organization(request), first=max(first, last - timedelta(days=MAX_DAYS - 1)), last=last
    )


def requested_organization(request: Request) -> str:
    """Return the organization of the page: the person's own; operators may choose one or all."""
    caller, directory = caller_of(request), console_of(request).directory
    return (
        _known(request.query_params.get("organization", ""), directory) if caller.operator else _own(caller, directory)
    )


def list_organizations(request: Request) -> list[str]:
    """Return the organizations that operators can choose."""
    if not caller_of(request).operator:
        return []
    return sorted([one.name for one in console_of(request).directory.organizations.values()], key=str.casefold)


def table_cells(columns: Any, rows: Any) -> list[list[tuple[Any, bool]]]:
    """Return the cells, each with True if it is a number."""
    return [[(cell, isinstance(cell, int | float)) for cell in row] for row in rows]


def _own(caller: Caller, directory: Directory) -> str:
    """Return the person's organization; never empty, which would select all."""
    if not caller.organization:
        raise not_found()
    return _known(caller.organization, directory) or caller.organization


def _known(name: str, directory: Directory) -> str:
    found = directory.organization(name) if name else None
    return found.name if found is not None else ALL


async def _find_report(request: Request) -> MartReport:
    try:
        return await _make_report(request, _name(request), requested_rows(request))
    except MissingMarts:
        raise not_found() from None


async def _make_report(request: Request, name: str, asked: RowFilter) -> MartReport:
    folder = console_of(request).running.settings.warehouse_folder
    return await run_query(partial(REPORTS[name], folder, asked))


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    if name not in REPORTS:
        raise not_found()
    return name


def _query_of(asked: RowFilter) -> dict[str, str]:
    """Return the query parameters for the same rows."""
    chosen = {"organization": asked.organization} if asked.organization else {}
    return {"from": asked.first.isoformat(), "to": asked.last.isoformat()} | chosen


def _day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
    return found if found is not None and 1970 < found.year < 9000 else None


ROUTES = (
    member_page("/reports", reports),
    member_page("/reports/{name}", show_report),
    member_page("/reports/{name}/plot.json", plot),
    member_page("/reports/{name}/table.csv", table_file),
    member_page("/reports/{name}/days.csv", days_file),
)
