"""The billing pages: the current month with its forecast, invoices, balances, and the messages behind each line.

Rules: members see their own organization's bills, operators all. A message is named and linked only as the viewer
knows it, by its session or its pseudonym, and otherwise not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.adapters.marts.billing import read_uses
from postroad.adapters.marts.tables import MissingMarts, run_query
from postroad.console.billing_data import (
    MonthDrafts,
    exactly_micros,
    forecast_total,
    load_drafts,
    plot_month,
)
from postroad.console.context import Console, caller_of, console_of
from postroad.console.downloads import csv_file, download, json_response
from postroad.console.page_guards import member_page, render_page
from postroad.console.pages.reports import list_organizations, requested_organization
from postroad.core.billing.balances import Balance
from postroad.core.billing.calendar import check_period, day_of
from postroad.core.billing.invoice_rows import COLUMNS, invoice_rows, line_text
from postroad.core.billing.invoices import CREDIT, InvoiceAccount, round_amount
from postroad.core.billing.records import BillingRecords
from postroad.core.billing.ubl import invoice_ubl
from postroad.core.model.billing import Invoice, InvoiceLine
from postroad.core.model.caller import Caller
from postroad.errors import Refused
from postroad.flow.administration.base import not_found
from postroad.flow.administration.messages import message_list as reading

USES_A_PAGE = 25
MAX_PAGES = 100_000
MAX_INVOICES = 200
ALL_ENTRIES = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingForm:
    """An operator's form: which it is, what is wrong with it, and what was written."""

    action: str = ""
    fault: str = ""
    values: dict[str, str] = field(default_factory=dict)


async def billing(request: Request) -> Response:
    return await show_billing(request, BillingForm())


async def show_billing(request: Request, form: BillingForm) -> Response:
    """Show the page; with what is wrong, if an operator's form has made no sense."""
    console, organization = console_of(request), requested_organization(request)
    period = f"{_today(console):%Y-%m}"
    values: dict[str, Any] = {
        "organization": organization,
        "organizations": list_organizations(request),
        "period": period,
        "balances": _balances(console, organization)[:MAX_INVOICES],
        "today": _today(console),
        "wish": _query_of(request, organization),
        "form": form,
        "last_month": f"{_today(console).replace(day=1) - timedelta(days=1):%Y-%m}",
    }
    status = 422 if form.fault else 200
    try:
        found = await _drafts(console, organization, period)
    except MissingMarts as missing:
        return render_page(request, "billing.html", values | {"missing": missing, "running": [], "plots": []}, status)
    upto_us = min(found.made_at_us, console.now_us)
    running = [(one, _forecast(console, one, upto_us)) for one in found.invoices]
    plots = [await _course(console, one) for one in found.invoices] if organization else []
    more = {"missing": None, "running": running, "plots": plots, "made_at_us": found.made_at_us}
    return render_page(request, "billing.html", values | more, status)


async def plot(request: Request) -> Response:
    console, asked = console_of(request), request.path_params
    account = InvoiceAccount(requested_organization(request), check_period(asked["period"]), asked["currency"])
    return json_response((await _plotted(console, account)).as_value())


async def draft(request: Request) -> Response:
    document, addresses = await _draft(request)
    path = f"/billing/drafts/{document.period}/{document.currency}"
    return _shown(request, document, addresses, path)


async def draft_line(request: Request) -> Response:
    document, addresses = await _draft(request)
    return await _line(request, document, addresses, f"/billing/drafts/{document.period}/{document.currency}")


async def invoice(request: Request) -> Response:
    return await show_invoice(request, BillingForm())


async def show_invoice(request: Request, form: BillingForm) -> Response:
    """Show an invoice; with what is wrong, if an operator's form has made no sense."""
    document, console = _invoice(request), console_of(request)
    (balance,) = [one for one in _balances(console, document.organization) if one.invoice.number == document.root]
    path = f"/billing/invoices/{document.number}"
    return _shown(request, document, _addresses(console, document), path, balance=balance, form=form)


async def invoice_line(request: Request) -> Response:
    document = _invoice(request)
    return await _line(
        request, document, _addresses(console_of(request), document), f"/billing/invoices/{document.number}"
    )


async def invoice_file(request: Request) -> Response:
    document = _invoice(request)
    addresses = _addresses(console_of(request), document)
    match request.path_params["form"]:
        case "ubl":
            return download(f"{document.number}.xml", invoice_ubl(document, addresses), "application/xml")
        case "csv":
            return csv_file(document.number, COLUMNS, invoice_rows(document, addresses))
    raise not_found()


def _shown(
    request: Request,
    document: Invoice,
    addresses: dict[str, str],
    path: str,
    *,
    balance: Balance | None = None,
    form: BillingForm | None = None,
) -> Response:
    values = {
        "document": document,
        "lines": [(line, line_text(line, addresses), line.kind != CREDIT) for line in document.lines],
        "here": path,
        "wish": _query_of(request, document.organization),
        "balance": balance,
        "today": _today(console_of(request)),
        "form": form,
        "key": console_of(request).administration.new_id(),
    }
    return render_page(request, "invoice.html", values, 422 if form is not None and form.fault else 200)


async def _line(request: Request, document: Invoice, addresses: dict[str, str], path: str) -> Response:
    console, caller = console_of(request), caller_of(request)
    line = _line_in(request, document)
    page = _page(request)
    folder, through = console.running.settings.warehouse_folder, document.through or ALL_ENTRIES
    values: dict[str, Any] = {
        "document": document, "line": line, "text": line_text(line, addresses), "here": path, "page": page,
        "wish": _query_of(request, document.organization), "pages": -(-line.quantity // USES_A_PAGE),
    }  # fmt: skip
    skipped = (page - 1) * USES_A_PAGE
    try:
        found = await run_query(partial(read_uses, folder, document, line, through, skipped, USES_A_PAGE))
    except MissingMarts as missing:
        return render_page(request, "invoice_line.html", values | {"missing": missing, "uses": []})
    told = [(use, await _message_name(console, caller, use.session)) for use in found]
    return render_page(request, "invoice_line.html", values | {"missing": None, "uses": told})


async def _message_name(console: Console, caller: Caller, session: str) -> str:
    """Return the name under which the caller may open the message; empty if they may not."""
    for name in (session, console.network.tokens.pseudonyms.session(session)):
        try:
            await reading.load_message(console.network, caller, name)
        except Refused:
            continue
        return name
    return ""


async def _drafts(console: Console, organization: str, period: str) -> MonthDrafts:
    settings, books = console.running.settings, console.directory.books
    return await run_query(
        partial(load_drafts, settings.warehouse_folder, organization, period, books, _today(console))
    )


async def _draft(request: Request) -> tuple[Invoice, dict[str, str]]:
    console, organization, asked = console_of(request), requested_organization(request), request.path_params
    if not organization:
        raise not_found()
    try:
        found = await _drafts(console, organization, check_period(asked["period"]))
    except MissingMarts:
        raise not_found() from None
    documents = [one for one in found.invoices if one.currency == asked["currency"]]
    if not documents:
        raise not_found()
    return documents[0], dict(found.addresses) | _addresses(console)


async def _course(console: Console, document: Invoice) -> dict[str, Any]:
    account = InvoiceAccount(document.organization, document.period, document.currency)
    address = f"/billing/plots/{account.period}/{account.currency}?{urlencode({'organization': account.organization})}"
    return {"plot": await _plotted(console, account), "address": address}


async def _plotted(console: Console, account: InvoiceAccount) -> Any:
    folder, books = console.running.settings.warehouse_folder, console.directory.books
    try:
        return await run_query(partial(plot_month, folder, account, books, console.now_us))
    except MissingMarts:
        raise not_found() from None


def _forecast(console: Console, document: Invoice, upto_us: int) -> dict[str, Any]:
    """A draft's exact sum, and the month's forecast."""
    whole = forecast_total(document, console.directory.books, upto_us)
    return {
        "micros": exactly_micros(document),
        "forecast": round_amount(whole, document.currency) if whole is not None else None,
    }


def _invoice(request: Request) -> Invoice:
    """Return the invoice that the address names if the caller may see it; otherwise it does not exist for them."""
    caller, directory = caller_of(request), console_of(request).directory
    found: Invoice | None = directory.billing.get("invoice", {}).get(request.path_params["number"])
    if found is None or not caller.can_view(found.organization):
        raise not_found()
    return found


def _balances(console: Console, organization: str) -> list[Balance]:
    """Sort invoices, newest first."""
    return BillingRecords.of_directory(console.directory).balances("", organization)[::-1]


def _line_in(request: Request, document: Invoice) -> InvoiceLine:
    found = [line for line in document.lines if str(line.number) == request.path_params["line"] and line.kind != CREDIT]
    if not found:
        raise not_found()
    return found[0]


def _page(request: Request) -> int:
    text = request.query_params.get("page", "1")
    return min(max(1, int(text)), MAX_PAGES) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _addresses(console: Console, document: Invoice | None = None) -> dict[str, str]:
    """Return the addresses of services by GCID; in an issued document, as they were."""
    current = {gcid: service.address for gcid, service in console.directory.services.items()}
    return current if document is None else current | document.addresses


def _query_of(request: Request, organization: str) -> str:
    return f"?{urlencode({'organization': organization})}" if caller_of(request).operator and organization else ""


def _today(console: Console) -> date:
    return day_of(console.now_us, console.directory.books.time_zone)


ROUTES = (
    member_page("/billing", billing),
    member_page("/billing/plots/{period}/{currency}", plot),
    member_page("/billing/drafts/{period}/{currency}", draft),
    member_page("/billing/drafts/{period}/{currency}/lines/{line}", draft_line),
    member_page("/billing/invoices/{number}", invoice),
    member_page("/billing/invoices/{number}/lines/{line}", invoice_line),
    member_page("/billing/invoices/{number}/{form}", invoice_file),
)
