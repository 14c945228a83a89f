"""The types of billing: uses, tariffs, charges, invoices and payments.

Rule: money is never a float. Prices and amounts are decimals; calculations use whole micro-units (millionths) of a
currency. Billing settings and tariffs are configuration objects, with versions; invoices and payments are facts of the
journal and never change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from postroad.core.model.message import MessageType

MICROS = 1_000_000  # micro-units of one unit of a currency
KILOBYTE = 1_000
BOOKS_KEY = "books"


class UseKind(StrEnum):
    """What is billed."""

    MESSAGE = "message"  # a copy of a message was accepted
    INVOCATION = "invocation"  # an in-transit service has done its work and returned


class ChargePart(StrEnum):
    """The role in which an organization is charged or paid for a use."""

    ORIGINATOR = "originator"
    TRANSIT = "in transit"
    RECIPIENT = "recipient"
    PAYER = "payer"  # pays for a service that it included
    VENDOR = "vendor"  # is paid for the work of its in-transit service


class BilledService(NamedTuple):
    """A service on the route of a message, and the service that pays for it; both are GCIDs."""

    service: str
    payer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One billable use, identified by its journal entry and the position of the copy in it."""

    seq: int
    ordinal: int
    at_us: int
    kind: UseKind
    type: MessageType
    size: int
    originator: str  # GCID
    transit: tuple[BilledService, ...]  # of a message: the services on its way; of an invocation: the one that returned
    recipient: BilledService

    @property
    def key(self) -> tuple[int, int]:
        return self.seq, self.ordinal

    @property
    def kilobytes(self) -> int:
        """Return the size in kilobytes, rounded up."""
        return -(-self.size // KILOBYTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A price per unit, up to a number of units in a period; the last tier has no limit."""

    price: Decimal
    up_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceShares:
    """The division of a price in percent, 100 in total."""

    originator: int = 100
    transit: int = 0
    recipient: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The price of one kind of use. Allowances are used first; tiers count the units after them."""

    per_message: tuple[Tier, ...] = ()
    per_kilobyte: tuple[Tier, ...] = ()
    free_messages: int = 0
    free_kilobytes: int = 0
    shares: PriceShares = field(default_factory=PriceShares)
    vendor_percent: int = 0  # of the price, to the organization whose in-transit service did the work


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """A version of a price plan, valid from a month on, for the listed organizations, or for all that no plan lists."""

    name: str
    valid_from: str  # a month, such as 2026-10
    valid_until: str = ""  # the last month; empty: until the next version of the same name
    currency: str
    organizations: tuple[str, ...] = ()  # spelled as the directory does
    message: Rate = field(default_factory=Rate)
    invocation: Rate = field(default_factory=Rate)
    services: dict[str, Rate] = field(default_factory=dict)  # invocation prices that differ, by GCID of the service
    free_types: tuple[MessageType, ...] = ()  # cost nothing, and use up no allowance
    description: str = ""

    @property
    def key(self) -> str:
        return f"{self.name.casefold()}/{self.valid_from}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingSettings:
    """Billing settings: seller name, time zone and payment term."""

    seller: str = "The network"
    time_zone: str = "UTC"
    due_days: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The amount an organization owes for a use (negative: is owed); ``part_number`` numbers the charges of a use."""

    seq: int
    ordinal: int
    part_number: int
    kind: UseKind
    at_us: int
    day: date  # in the time zone of billing
    organization: str
    service: str  # GCID: the organization's own, or the one whose invocation it pays
    part: ChargePart
    tariff: str  # its key
    currency: str
    kilobytes: int
    micros: int

    @property
    def period(self) -> str:
        return f"{self.day:%Y-%m}"


class DocumentKind(StrEnum):
    INVOICE = "invoice"
    CREDIT_NOTE = "credit note"


class LineKey(NamedTuple):
    """The attributes that all charges of one invoice line share."""

    kind: str
    part: str
    service: str
    tariff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    """Charges of one sort, summed up exactly and then rounded once, half away from zero."""

    number: int
    kind: str
    part: str
    service: str
    tariff: str
    quantity: int
    kilobytes: int
    micros: int
    amount: Decimal
    text: str = ""  # of a line without charges

    @property
    def key(self) -> LineKey:
        return LineKey(self.kind, self.part, self.service, self.tariff)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """A bill as issued; never changed. ``corrects`` names the invoice that this one corrects."""

    number: str
    document: DocumentKind = DocumentKind.INVOICE
    organization: str
    period: str
    currency: str
    issued_on: date
    due_on: date
    seller: str
    through: int  # the last journal entry that is counted
    tariffs: dict[str, int]  # versions of the tariffs that apply, by key
    lines: tuple[InvoiceLine, ...]
    total: Decimal
    corrects: str = ""
    reason: str = ""
    addresses: dict[str, str] = field(default_factory=dict)  # of services in its lines, when issued; by GCID
    request: str = ""  # Idempotency-Key of the request that asked for it

    @property
    def root(self) -> str:
        """Return the number of the first invoice, which its corrections share."""
        return self.corrects or self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Money received for an invoice, or refunded (below zero)."""

    id: str
    invoice: str
    amount: Decimal
    currency: str
    received_on: date
    reference: str = ""
    request: str = ""  # Idempotency-Key of the request that recorded it


# ISO 4217: the decimals of currencies that do not have two.
_DECIMALS = {0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF", 3: "BHD IQD JOD KWD LYD OMR TND"}
DECIMALS = {currency: places for places, currencies in _DECIMALS.items() for currency in currencies.split()}


def decimals(currency: str) -> int:
    """Return the number of decimals that amounts in a currency have."""
    return DECIMALS.get(currency, 2)


def micros(amount: Decimal) -> int:
    """Return a price or an amount in micro-units; refuses one that is not a whole number of them."""
    scaled = amount.scaleb(6)
    if scaled != scaled.to_integral_value():
        raise ValueError(f"{amount} has more than six decimals")
    return int(scaled)
