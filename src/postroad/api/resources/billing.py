"""Bills: usage and running total of a month, invoices, credits and payments.

Operators issue invoices and record payments, and see those of all organizations; people see those of their own.
Credits and payments accept an Idempotency-Key, so that a request may be repeated when its answer was lost.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field, StrictInt, StrictStr

from postroad.adapters.marts.billing import read_month, read_usage, read_whole_month
from postroad.adapters.marts.tables import MissingMarts, run_query
from postroad.api.pagination import PageQuery
from postroad.api.resources.context import Api, ApiContext, Asking, answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import DOCUMENT_BYTES, GuardedRoute
from postroad.core.billing.balances import Balance
from postroad.core.billing.calendar import check_period
from postroad.core.billing.forecast import forecast_micros
from postroad.core.billing.invoice_views import invoice_details, invoice_summary, payment_view
from postroad.core.billing.invoices import InvoiceAccount, LineTotal, round_amount
from postroad.core.billing.issuing import CountedAccount, CountedMonth, draft_invoices
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.entries.billing_records import Day
from postroad.core.configuration.entries.tariffs import Currency, Month
from postroad.core.configuration.shapes import Count, Line, Prose, StrictShape, Word
from postroad.core.model.billing import Invoice, LineKey
from postroad.core.resources.billing import (
    DocumentPage,
    InvoiceDetails,
    InvoicePage,
    IssuedInvoices,
    RecordedPayment,
    RunningTotal,
    UsageView,
    UsedServiceView,
)
from postroad.errors import Refused
from postroad.flow.administration import billing


class BillingRoute(GuardedRoute):
    """A route that accepts the sums of a whole month."""

    body_bytes = DOCUMENT_BYTES


router = APIRouter(route_class=BillingRoute, tags=["billing"])
INVOICES = "/v1/billing/invoices"

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="A repeated request with the same key returns the first result and records nothing again",
    ),
]
Sum = Annotated[StrictInt, Field(ge=-(10**17), le=10**17)]
PaidAmount = Annotated[StrictStr, Field(max_length=20, description="A decimal number as text, such as `12.50`")]


class CountedLine(StrictShape):
    """The sum of the charges of one sort."""

    kind: Word
    part: Line = ""
    service: Line = ""
    tariff: Line = ""
    quantity: Sum
    kilobytes: Sum
    micros: Sum


class AccountCharges(StrictShape):
    """What an organization owes for the month, in one currency."""

    organization: Word
    currency: Currency
    tariffs: Annotated[dict[Word, StrictInt], Field(description="Versions of the tariffs by which it was priced")]
    lines: Annotated[tuple[CountedLine, ...], Field(max_length=100_000)]


class CountedCharges(StrictShape):
    """The charges of a month, counted by a warehouse that this server does not read."""

    through: Annotated[Count, Field(description="The last journal entry that is counted")]
    latest: Annotated[Sum, Field(description="Time of the latest counted event, in microseconds since 1970")] = 0
    accounts: Annotated[
        tuple[AccountCharges, ...],
        Field(max_length=50_000, description="All accounts of the month; one that is left out owes nothing"),
    ]

    def month(self, period: str) -> CountedMonth:
        accounts = {
            InvoiceAccount(one.organization, period, one.currency): CountedAccount(
                sums={
                    LineKey(line.kind, line.part, line.service, line.tariff): LineTotal(
                        line.quantity, line.kilobytes, line.micros
                    )
                    for line in one.lines
                },
                tariffs=one.tariffs,
            )
            for one in self.accounts
        }
        return CountedMonth(through=self.through, latest_us=self.latest, accounts=accounts)


class IssueWish(StrictShape):
    """Which month to invoice."""

    period: Month
    dry_run: Annotated[bool, Field(description="Only return what would be issued")] = False
    counted: Annotated[
        CountedCharges | None, Field(description="The charges; left out: those in this server's warehouse")
    ] = None


class CreditWish(StrictShape):
    """How much to give back, and why."""

    amount: PaidAmount
    reason: Annotated[Prose, Field(min_length=1, description="Printed on the credit note")]


class PaymentWish(StrictShape):
    """How much was received; below zero, how much was refunded."""

    amount: PaidAmount
    received_on: Annotated[Day | None, Field(description="Left out: today")] = None
    reference: Annotated[Line, Field(description="Text of the bank statement")] = ""


class DocumentsQuery(PageQuery):
    """Which documents to list."""

    organization: Annotated[str, Field(max_length=200)] = ""
    period: Annotated[str, Field(max_length=7)] = ""


class InvoicesQuery(DocumentsQuery):
    """Which invoices to list."""

    overdue_on: Annotated[
        str, Field(max_length=10, description="Only those that are overdue on this day, or `today`")
    ] = ""


class UsageQuery(StrictShape):
    """Whose usage to show, and of which month."""

    organization: Annotated[str, Field(max_length=200)] = ""
    period: Annotated[str, Field(max_length=7, description="A month; left out: the current one")] = ""


@router.get("/v1/billing/usage", **returns(UsageView))
async def read_month_usage(api: Api, caller: Asking, query: Annotated[UsageQuery, Query()]) -> Response:
    """What your organization used in a month, and what that comes to so far.

    The warehouse counts it whenever the pipeline runs; `countedAt` is when. Operators read that of any organization,
    and of all if they name none.
    """
    network, today = api.network, billing.today(api.network)
    period = check_period(query.period or f"{today:%Y-%m}")
    organization = billing.billed_organization(caller, network.directory, query.organization)
    folder, books = api.warehouse_folder, network.directory.books
    month = await _read(partial(read_month, folder, organization, period))
    used = await _read(partial(read_usage, folder, organization, period))
    counted_us = min(month.made_at_us, network.clock.now_us())
    drafts = draft_invoices(period, month.counted, "", today, books)
    view = UsageView(
        organization=organization,
        period=period,
        counted_at=write_time(month.made_at_us),
        running=[_running(draft, books.time_zone, counted_us) for draft in drafts],
        usage=[UsedServiceView(**one._asdict() | {"day": one.day.isoformat()}) for one in used],
    )
    return answer(view)


@router.get(INVOICES, **returns(InvoicePage))
async def list_invoices(
    request: Request, api: Api, caller: Asking, query: Annotated[InvoicesQuery, Query()]
) -> Response:
    """The invoices of your organization with their balances, by number; for operators, those of all organizations."""
    day = _day(api, query.overdue_on) if query.overdue_on else None
    wanted = billing.InvoiceQuery(organization=query.organization, period=query.period, overdue_on=day)
    found = await billing.list_invoices(api.network, caller, wanted)
    page = make_page(request, api, caller, query, found, lambda one: one.invoice.number)
    on = day or billing.today(api.network)
    return page_answer(request, page._replace(items=[invoice_summary(one, on) for one in page.items]))


@router.get("/v1/billing/documents", **returns(DocumentPage))
async def list_documents(
    request: Request, api: Api, caller: Asking, query: Annotated[DocumentsQuery, Query()]
) -> Response:
    """The invoices and credit notes of your organization, whole, by number: for accounting programs."""
    found = await billing.list_documents(api.network, caller, query.organization, query.period)
    page = make_page(request, api, caller, query, found, lambda one: one[0].number)
    return page_answer(request, page._replace(items=[_details(api, *one) for one in page.items]))


@router.post(INVOICES, **returns(IssuedInvoices))
async def issue_invoices(api: Api, caller: Asking, wish: IssueWish) -> Response:
    """Issue the invoices that a month still lacks, and corrections of those that are no longer right; for operators.

    Repeating it issues nothing twice. Without `counted`, the charges are those of this server's warehouse.
    """
    billing.require_operator(caller)
    if wish.counted is not None:
        counted = wish.counted.month(wish.period)
    else:
        counted = await _read(partial(read_whole_month, api.warehouse_folder, wish.period))
    issued = await billing.issue_invoices(api.network, caller, wish.period, counted, dry_run=wish.dry_run)
    known = await billing.list_invoices(api.network, caller, billing.InvoiceQuery(period=wish.period))
    balances = {one.invoice.number: one for one in known}
    items = [_details(api, one, balances.get(one.root)) for one in issued]
    return answer(IssuedInvoices(period=wish.period, dry_run=wish.dry_run, items=items))


@router.get(INVOICES + "/{number}", **returns(InvoiceDetails))
async def read_invoice(api: Api, caller: Asking, number: str) -> Response:
    """One invoice or credit note with its lines, its payments and what is open."""
    return answer(_details(api, *await billing.find_invoice(api.network, caller, number)))


@router.post(INVOICES + "/{number}/credits", **returns(InvoiceDetails, 201))
async def credit_invoice(
    api: Api, caller: Asking, number: str, wish: CreditWish, idempotency_key: IdempotencyKey = ""
) -> Response:
    """Give money back on an invoice for a reason that the journal does not know; for operators."""
    note = await billing.credit_invoice(api.network, caller, number, wish.amount, wish.reason, request=idempotency_key)
    found = await billing.find_invoice(api.network, caller, note.number)
    return answer(_details(api, *found), 201, headers={"Location": f"{INVOICES}/{note.number}"})


@router.post(INVOICES + "/{number}/payments", **returns(RecordedPayment, 201))
async def record_payment(
    api: Api, caller: Asking, number: str, wish: PaymentWish, idempotency_key: IdempotencyKey = ""
) -> Response:
    """Record a payment for an invoice; an amount below zero takes one back; for operators."""
    payment = await billing.record_payment(
        api.network,
        caller,
        number,
        wish.amount,
        received_on=date.fromisoformat(wish.received_on) if wish.received_on else None,
        reference=wish.reference,
        request=idempotency_key,
    )
    _, balance = await billing.find_invoice(api.network, caller, payment.invoice)
    summary = invoice_summary(balance, billing.today(api.network))
    return answer(RecordedPayment(payment=payment_view(payment), invoice=summary), 201)


def _details(api: ApiContext, document: Invoice, balance: Balance | None) -> InvoiceDetails:
    addresses = billing.addresses_in(document, api.network.directory)
    return invoice_details(document, balance, addresses, billing.today(api.network))


def _running(draft: Invoice, time_zone: str, counted_us: int) -> RunningTotal:
    exact = sum(line.micros for line in draft.lines)
    whole = forecast_micros(exact, draft.period, time_zone, counted_us)
    return RunningTotal(
        organization=draft.organization,
        currency=draft.currency,
        total=f"{draft.total:f}",
        micros=exact,
        forecast=f"{round_amount(whole, draft.currency):f}" if whole is not None else None,
    )


async def _read(question: Any) -> Any:
    """Run a query on the warehouse's tables; refuses what they do not contain."""
    try:
        return await run_query(question)
    except MissingMarts as missing:
        detail = f"{missing} {missing.instruction} {missing.command}".replace("\n", "; ")
        raise Refused("billing.not-counted", detail) from None


def _day(api: ApiContext, text: str) -> date:
    if text == "today":
        return billing.today(api.network)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Refused("value.invalid", f"{text!r} is not a day; write it as 2026-10-31") from None
