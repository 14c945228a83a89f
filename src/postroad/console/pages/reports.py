"""Reports from the warehouse: usage, latency, errors, partners, batches; each as a plot, a table and files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.console.context import caller_of, console_of
from postroad.console.files import csv_file, for_script
from postroad.console.guarding import member_page, show
from postroad.console.marts import ALL, Asked, Missing, ask
from postroad.console.reports import REPORTS, Report
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration import not_found

USUAL_DAYS = 30
DAYS_MOST = 400
ROWS_MOST = 200
SECOND_US = 1_000_000


async def reports(request: Request) -> Response:
    return RedirectResponse("/reports/usage", 303)


async def show_report(request: Request) -> Response:
    asked, name = asked_in(request), _name(request)
    values = {
        "name": name,
        "names": tuple(REPORTS),
        "asked": asked,
        "wish": f"?{urlencode(_wish(asked))}",
        "houses": houses(request),
    }
    try:
        found = await _made(request, name, asked)
    except Missing as missing:
        return show(request, "reports_missing.html", values | {"missing": missing})
    rows = found.rows[:ROWS_MOST]
    more = {
        "report": found,
        "rows": rows,
        "left_out": len(found.rows) - len(rows),
        "table": table_of(found.columns, rows),
    }
    return show(request, "reports.html", values | more)


async def plot(request: Request) -> Response:
    return for_script((await _found(request)).plot.as_value())


async def table_file(request: Request) -> Response:
    found = await _found(request)
    return csv_file(_name(request), found.columns, found.rows)


async def days_file(request: Request) -> Response:
    found = (await _found(request)).plot
    return csv_file(f"{_name(request)}-by-day", found.columns, found.rows)


def asked_in(request: Request) -> Asked:
    """Whose rows somebody asks for, and from when; whatever cannot be is taken for the usual."""
    today = datetime.fromtimestamp(console_of(request).now_us / SECOND_US, UTC).date()
    last = _day(request.query_params.get("to", "")) or today
    first = _day(request.query_params.get("from", "")) or last - timedelta(days=USUAL_DAYS - 1)
    if first > last:
        first, last = last, first
    return Asked(house=house_in(request), first=max(first, last - timedelta(days=DAYS_MOST - 1)), last=last)


def house_in(request: Request) -> str:
    """The organization that the page is about: the own one, and for operators the one they name, or all."""
    caller, directory = caller_of(request), console_of(request).directory
    return (
        _known(request.query_params.get("organization", ""), directory) if caller.operator else _own(caller, directory)
    )


def houses(request: Request) -> list[str]:
    """Those among whom operators choose."""
    if not caller_of(request).operator:
        return []
    return sorted([one.name for one in console_of(request).directory.organizations.values()], key=str.casefold)


def table_of(columns: Any, rows: Any) -> list[list[tuple[Any, bool]]]:
    """Cells, each with whether it is a number."""
    return [[(cell, isinstance(cell, int | float)) for cell in row] for row in rows]


def _own(caller: Caller, directory: Directory) -> str:
    """Never empty: that would be everybody."""
    if not caller.organization:
        raise not_found()
    return _known(caller.organization, directory) or caller.organization


def _known(name: str, directory: Directory) -> str:
    found = directory.organization(name) if name else None
    return found.name if found is not None else ALL


async def _found(request: Request) -> Report:
    try:
        return await _made(request, _name(request), asked_in(request))
    except Missing:
        raise not_found() from None


async def _made(request: Request, name: str, asked: Asked) -> Report:
    folder = console_of(request).running.settings.warehouse_folder
    return await ask(partial(REPORTS[name], folder, asked))


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    if name not in REPORTS:
        raise not_found()
    return name


def _wish(asked: Asked) -> dict[str, str]:
    """The same again, in an address."""
    house = {"organization": asked.house} if asked.house else {}
    return {"from": asked.first.isoformat(), "to": asked.last.isoformat()} | house


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
