"""Invoices and payments in a document, as `postroad billing` submitted them until version 0.2.

They are records, not configuration: an export omits them, pruning never removes them, and existing ones never change.
Today they are journal entries of their own (``core/model/billing_entries``); documents that have them still apply.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr, StringConstraints

from postroad.core.configuration.entries.tariffs import BooksEntry, Currency, Month, TariffEntry
from postroad.core.configuration.shapes import Count, Line, Name, Prose, StrictShape, Word
from postroad.core.model.billing import DocumentKind, Invoice, InvoiceLine, Payment, decimals


def _decimal(value: Any) -> Any:
    if isinstance(value, (int, float)):
        raise ValueError('write amounts in quotes, such as "12.50"')
    return value


def _day(text: str) -> str:
    date.fromisoformat(text)  # whose complaint is clear enough
    return text


Amount = Annotated[
    StrictStr, BeforeValidator(_decimal), StringConstraints(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,3})?$", max_length=20)
]
Day = Annotated[StrictStr, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_day)]
Number = Annotated[StrictStr, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z./-]{0,63}$")]
Whole = Annotated[StrictInt, Field(ge=-(2**62), le=2**62)]


class LineEntry(StrictShape):
    kind: Word
    part: Line = ""
    service: Line = ""
    tariff: Line = ""
    quantity: Whole
    kilobytes: Whole = 0
    micros: Whole
    amount: Amount
    text: Prose = ""


class InvoiceEntry(StrictShape):
    """An invoice or credit note, whole."""

    document: DocumentKind = DocumentKind.INVOICE
    organization: Word
    period: Month
    currency: Currency
    issued_on: Day
    due_on: Day
    seller: Line
    through: Count
    tariffs: Annotated[dict[Word, StrictInt], Field(default_factory=dict)]
    lines: Annotated[tuple[LineEntry, ...], Field(max_length=100_000)]
    total: Amount
    corrects: Number | None = None
    reason: Prose = ""

    def invoice(self, number: str) -> Invoice:
        given = self.model_dump()
        given["lines"] = tuple(_line(place, line) for place, line in enumerate(given["lines"], 1))
        given |= {name: date.fromisoformat(given[name]) for name in ("issued_on", "due_on")}
        given |= {"total": Decimal(self.total), "corrects": self.corrects or ""}
        return Invoice(number=number, **given)


class PaymentEntry(StrictShape):
    invoice: Number
    amount: Amount
    currency: Currency
    received_on: Day
    reference: Line = ""

    def payment(self, id: str) -> Payment:
        given = self.model_dump() | {"amount": Decimal(self.amount)}
        return Payment(id=id, **given | {"received_on": date.fromisoformat(self.received_on)})


def _line(number: int, given: dict[str, Any]) -> InvoiceLine:
    return InvoiceLine(number=number, **given | {"amount": Decimal(given["amount"])})


def record_errors(record: Invoice | Payment) -> list[str]:
    """Return the contradictions within an invoice or payment."""
    if isinstance(record, Payment):
        return _precision_errors(record.amount, record.currency)
    faults = [fault for line in record.lines for fault in _precision_errors(line.amount, record.currency)]
    if sum((line.amount for line in record.lines), Decimal(0)) != record.total:
        faults.append("the sum of the lines differs from the total")
    return faults


def _precision_errors(amount: Decimal, currency: str) -> list[str]:
    places = decimals(currency)
    fits = amount == amount.quantize(Decimal(1).scaleb(-places))
    return [] if fits else [f"{amount} cannot be paid: {currency} has {places} decimals"]


class BillingEntry(StrictShape):
    """Everything about billing in one place; for operators."""

    books: BooksEntry | None = None
    tariffs: Annotated[
        dict[Name, Annotated[tuple[TariffEntry, ...], Field(min_length=1, max_length=1_000)]] | None,
        Field(max_length=1_000, description="Price plans; each is the list of its versions"),
    ] = None
    invoices: Annotated[dict[Number, InvoiceEntry], Field(max_length=100_000, default_factory=dict)]
    payments: Annotated[dict[Number, PaymentEntry], Field(max_length=100_000, default_factory=dict)]
