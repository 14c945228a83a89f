"""The operators' forms for bills: issue the invoices of a month, give a credit, record a payment.

Rule: a form carries the key of its request, so that sending it twice records nothing twice. A mistake shows the page
again with what was written.
"""

from __future__ import annotations

from datetime import date
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from postroad.adapters.marts.billing import read_whole_month
from postroad.adapters.marts.tables import MissingMarts, run_query
from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, read_form, redirect
from postroad.console.pages.billing import BillingForm, show_billing, show_invoice
from postroad.core.billing.calendar import check_period
from postroad.errors import Refused
from postroad.flow.administration.billing import credit_invoice, issue_invoices, record_payment, require_operator

REFERENCE_CHARS = 200
REASON_CHARS = 1_000


async def issue(request: Request) -> Response:
    caller, console, form = caller_of(request), console_of(request), await read_form(request)
    require_operator(caller)
    period = form.get("period", "").strip()
    try:
        folder = console.running.settings.warehouse_folder
        counted = await run_query(partial(read_whole_month, folder, check_period(period)))
        issued = await issue_invoices(console.network, caller, period, counted)
    except (MissingMarts, Refused) as fault:
        detail = fault.detail if isinstance(fault, Refused) else f"{fault} {fault.instruction} {fault.command}"
        return await show_billing(request, BillingForm(action="issue", fault=detail, values={"period": period}))
    done = f"{len(issued)} documents issued for {period}." if issued else f"The invoices of {period} are correct."
    return redirect("/billing", done)


async def credit(request: Request) -> Response:
    form, number = await read_form(request), request.path_params["number"]
    values = {name: form.get(name, "").strip() for name in ("amount", "reason", "key")}
    try:
        if not values["reason"]:
            raise Refused("value.invalid", "Write the reason; it is printed on the credit note")
        note = await credit_invoice(
            console_of(request).network, caller_of(request), number, values["amount"],
            values["reason"][:REASON_CHARS],
            request=values["key"],
        )  # fmt: skip
    except Refused as fault:
        return await _mistake(request, BillingForm(action="credit", fault=fault.detail, values=values), fault)
    return redirect(f"/billing/invoices/{note.corrects}", f"Credit note {note.number} is issued.")


async def pay(request: Request) -> Response:
    form, number = await read_form(request), request.path_params["number"]
    values = {name: form.get(name, "").strip() for name in ("amount", "received_on", "reference", "key")}
    try:
        payment = await record_payment(
            console_of(request).network, caller_of(request), number, values["amount"],
            received_on=_day(values["received_on"]), reference=values["reference"][:REFERENCE_CHARS],
            request=values["key"],
        )  # fmt: skip
    except Refused as fault:
        return await _mistake(request, BillingForm(action="pay", fault=fault.detail, values=values), fault)
    return redirect(
        f"/billing/invoices/{payment.invoice}", f"Payment of {payment.amount} {payment.currency} is recorded."
    )


async def _mistake(request: Request, form: BillingForm, fault: Refused) -> Response:
    if fault.code != "value.invalid":
        raise fault
    return await show_invoice(request, form)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Refused("value.invalid", f"{text[:20]!r} is not a day; write it as 2026-10-31") from None


ROUTES = (
    member_form("/billing/issue", issue),
    member_form("/billing/invoices/{number}/credits", credit),
    member_form("/billing/invoices/{number}/payments", pay),
)
