"""The what-if pages: start a run with a changed configuration, watch it, and read its report.

Rules: a report contains everyone's traffic and bills, so it is for operators. A configuration is checked as if it
were applied. A document from a browser never makes the server read its own files or variables.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import date
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.downloads import download, json_response
from postroad.console.form_values import InvalidForm, errors_by_field, parse_yaml_text, refusal_errors
from postroad.console.page_guards import is_part, member_form, member_page, read_form, redirect, render_page
from postroad.console.plots import Curve, Plot
from postroad.console.whatif_runs import CHANGE, PAGE, RunState, WhatIfRequest, WhatIfRun, WhatIfRuns
from postroad.core.configuration.document import DocumentError
from postroad.errors import Refused
from postroad.flow.administration.base import not_found, permission_denied
from postroad.flow.administration.configuration import plan_configuration

MAX_SHOWN = 50
SHOWN_RUNS = 50
BASELINES = (("today", "today's configuration"), ("then", "what really happened"))
LOOKED_UP = frozenset({"passwordFrom", "keyFrom", "file"})  # resolved when a document is read from a file
FIELDS = ("change", "begin", "end", "baseline", "prune")
PLACES = {"/begin": "begin", "/end": "end", "/baseline": "baseline", "": "change"}


async def list_runs(request: Request) -> Response:
    return _form(request, dict.fromkeys(FIELDS, "") | {"baseline": "today"}, [])


async def start(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    runs = _runs(request)
    values = {name: form.get(name, "") for name in FIELDS}
    try:
        wish = _read_request(request, values)
        document = parse_yaml_text(values["change"])
        _check_document(document)
        await plan_configuration(console.administration, caller, document, prune=wish.prune)
        run = await asyncio.to_thread(runs.start, console.network.randomness.bytes(6).hex(), wish, values["change"])
    except InvalidForm as faulty:
        return _form(request, values, faulty.faults)
    except Refused as refusal:
        return _form(request, values, refusal_errors(refusal))
    return redirect(f"/whatif/{run.id}")


async def show_run(request: Request) -> Response:
    run = _run(request)
    state = run.state
    values: dict[str, Any] = {"run": run, "state": state, "working": state is RunState.WORKING}
    if is_part(request):
        return render_page(request, "whatif_part.html", values)
    if state is not RunState.DONE:
        return render_page(request, "whatif_run.html", values)
    report = run.report or {}
    more = {"report": report, "most": MAX_SHOWN, "plot": _plot(report), "change": run.text(CHANGE)}
    return render_page(request, "whatif_report.html", values | more)


async def plot(request: Request) -> Response:
    return json_response(_plot(_run(request).report or {}).as_value())


async def page(request: Request) -> Response:
    """Return the report as one HTML file for download."""
    return download("what-if.html", _run(request).text(PAGE), "text/html; charset=utf-8")


async def stop(request: Request) -> Response:
    run = _run(request)
    run.stop()
    return redirect(f"/whatif/{run.id}", "The run is being cancelled.")


async def remove(request: Request) -> Response:
    await asyncio.to_thread(_run(request).remove)
    return redirect("/whatif", "The run was deleted.")


def _form(request: Request, values: Mapping[str, str], faults: list[DocumentError]) -> Response:
    runs = [(run, run.state) for run in _runs(request).all()[:SHOWN_RUNS]]
    wrong = errors_by_field(faults, PLACES)
    more = {"values": values, "faults": faults, "wrong": wrong, "runs": runs, "baselines": BASELINES}
    return render_page(request, "whatif.html", more, 422 if faults else 200)


def _read_request(request: Request, values: Mapping[str, str]) -> WhatIfRequest:
    faults = [
        DocumentError(f"/{name}", "Enter a day as 2026-10-31") for name in ("begin", "end") if not _is_day(values[name])
    ]
    if values["baseline"] not in dict(BASELINES):
        faults.append(DocumentError("/baseline", "Choose one of the two options"))
    if not values["change"].strip():
        faults.append(DocumentError("", "Enter the change, as for `postroad apply`"))
    if faults:
        raise InvalidForm(faults)
    return WhatIfRequest(
        by=caller_of(request).name,
        at_us=console_of(request).now_us,
        begin=values["begin"],
        end=values["end"],
        baseline=values["baseline"],
        prune=values["prune"] == "yes",
    )


def _check_document(value: Any) -> None:
    """Refuse documents that would make the server read its own files or variables."""
    if isinstance(value, dict):
        named = sorted(LOOKED_UP & {str(name) for name in value})
        if named:
            raise InvalidForm(
                [DocumentError("", f"`{named[0]}` cannot be used in a browser; enter the content itself")]
            )
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _check_document(item)
    elif isinstance(value, str) and value.startswith(("file:", "env:")):
        raise InvalidForm([DocumentError("", f"{value[:60]!r} cannot be used in a browser; enter the content itself")])


def _is_day(text: str) -> bool:
    try:
        return not text or (len(text) == 10 and bool(date.fromisoformat(text)))
    except ValueError:
        return False


def _plot(report: Mapping[str, Any]) -> Plot:
    days = report.get("days", [])
    names = {"changed": "take another route", "undecidable": "cannot be decided", "same": "are unchanged"}
    return Plot(
        title="Messages a day",
        unit="messages",
        days=[date.fromisoformat(day["day"]) for day in days],
        curves=[Curve(label=label, values=[day[name] for day in days]) for name, label in names.items()]
        if days
        else [],
    )


def _runs(request: Request) -> WhatIfRuns:
    if not caller_of(request).operator:
        raise permission_denied("What-if shows everyone's traffic; it is for the network's operators")
    return WhatIfRuns(settings=console_of(request).running.settings)


def _run(request: Request) -> WhatIfRun:
    found = _runs(request).find(request.path_params["run"])
    if found is None:
        raise not_found()
    return found


ROUTES = (
    member_page("/whatif", list_runs),
    member_form("/whatif", start),
    member_page("/whatif/{run}", show_run),
    member_page("/whatif/{run}/plot.json", plot),
    member_page("/whatif/{run}/report.html", page),
    member_form("/whatif/{run}/stop", stop),
    member_form("/whatif/{run}/remove", remove),
)
