"""Invoices, credits and payments: issued and recorded by operators, read by members.

Rules: operators see and issue for all organizations; people see the bills of their own. A record is one journal
entry, durable before it is answered. Numbers never repeat: of two nodes that use one at the same moment, the second
decides again on what the first has written. A repeated request, known by its Idempotency-Key, returns its first result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from functools import partial

from postroad.core.billing.balances import Balance
from postroad.core.billing.calendar import check_period, day_of
from postroad.core.billing.issuing import (
    CountedMonth,
    DueDocument,
    build_credit,
    check_is_over,
    check_lines,
    list_due_documents,
    parse_amount,
)
from postroad.core.billing.records import BillingRecords, account_of
from postroad.core.model.billing import Invoice, Payment
from postroad.core.model.billing_entries import (
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    PaymentRecorded,
    billing_record,
    issued_document,
)
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.base import (
    find_visible_organization,
    permission_denied,
    require_organization,
)
from postroad.flow.administration.versions import list_versions
from postroad.flow.network import Network
from postroad.flow.stages.posting import check_idempotency_key

TRIES = 20  # other nodes that are quicker, one after the other
OPERATORS_ONLY = "Only the network's operators issue invoices and record payments"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceQuery:
    """Which invoices to list; empty: all."""

    organization: str = ""
    period: str = ""
    overdue_on: date | None = None


def billed_organization(caller: Caller, directory: Directory, named: str = "") -> str:
    """Return the organization whose bills are asked for, as its bills spell it; empty for all, for operators."""
    if caller.operator:
        return _known_organization(named, directory) if named else ""
    found = find_visible_organization(caller, directory, named or caller.organization)
    return require_organization(caller, directory, found.name, Role.VIEWER).name


def _known_organization(named: str, directory: Directory) -> str:
    found = directory.organization(named)
    if found is not None:
        return found.name
    billed = BillingRecords.of_directory(directory).documents(organization=named)
    if billed:  # of an organization that has been removed
        return billed[0].organization
    near = get_close_matches(named, [item.name for item in directory.organizations.values()], 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise Refused("not-found", f"Organization {named!r} does not exist.{hint}")


async def list_invoices(network: Network, caller: Caller, query: InvoiceQuery) -> list[Balance]:
    """Return the invoices that the caller may see with their corrections and payments, by number."""
    organization = billed_organization(caller, network.directory, query.organization)
    records = await _records(network)
    found = records.balances(check_period(query.period) if query.period else "", organization)
    day = query.overdue_on
    return [item for item in found if item.is_overdue(day)] if day is not None else found


async def list_documents(
    network: Network, caller: Caller, organization: str = "", period: str = ""
) -> list[tuple[Invoice, Balance]]:
    """Return the documents that the caller may see, each with the balance of its invoice, by number."""
    billed = billed_organization(caller, network.directory, organization)
    records = await _records(network)
    balances = {item.invoice.number: item for item in records.balances("", billed)}
    documents = records.documents(check_period(period) if period else "", billed)
    return [(item, balances[item.root]) for item in documents]


async def find_invoice(network: Network, caller: Caller, number: str) -> tuple[Invoice, Balance]:
    """Return a document and the balance of its invoice; one of another organization does not exist."""
    records = await _records(network)
    found = records.invoices.get(number)
    if found is None or not caller.has_role(found.organization, Role.VIEWER):
        raise Refused("not-found", f"Invoice {number} does not exist or is not visible to you")
    return found, records.balance(found)


async def issue_invoices(
    network: Network, caller: Caller, period: str, counted: CountedMonth, *, dry_run: bool = False
) -> list[Invoice]:
    """Issue the invoices that a month lacks, and corrections; returns them, or what a dry run would issue."""
    require_operator(caller)
    head, now_us = (await network.journal.head()).seq, network.clock.now_us()
    check_lines(counted)
    check_is_over(check_period(period), counted, network.directory.books, now_us=now_us, head=head)
    issued: list[Invoice] = []
    for _ in range(TRIES):
        records = await _records(network)
        due = [one.document for one in _due(network, period, counted, records)]
        addresses = await _addresses(network, due)
        if dry_run or not due:
            return issued + [replace(document, addresses=addresses) for document in due]
        written = await _write(network, partial(_issue, network, caller, period, counted, addresses))
        issued += [record for entry in written if isinstance(record := billing_record(entry), Invoice)]
        if len(written) == len(due):
            return issued
    raise _too_busy()


async def credit_invoice(
    network: Network, caller: Caller, number: str, amount: str, reason: str, *, request: str = ""
) -> Invoice:
    """Issue a credit note for an invoice, for a reason that the journal does not know."""
    require_operator(caller)
    books, on = network.directory.books, today(network)

    def decide(records: BillingRecords) -> BillingJournalEntry:
        note = build_credit(records, number, amount, reason, on=on, books=books)
        follows = records.newest(account_of(note))
        return InvoiceCredited(
            at_us=network.clock.now_us(),
            by=caller.name,
            document=issued_document(note),
            follows=follows,
            request=request,
        )

    recorded = await _record_once(network, decide, request)
    if isinstance(recorded, Invoice):
        wanted = _root(network, number), reason, -parse_amount(amount, recorded.currency)
        if (recorded.corrects, recorded.reason, recorded.total) == wanted:
            return recorded
    raise _other_request()


async def record_payment(
    network: Network,
    caller: Caller,
    number: str,
    amount: str,
    *,
    received_on: date | None = None,
    reference: str = "",
    request: str = "",
) -> Payment:
    """Record a payment for an invoice; a negative amount reverses one."""
    require_operator(caller)
    day = received_on or today(network)

    def decide(records: BillingRecords) -> BillingJournalEntry:
        first = records.root(number)
        return PaymentRecorded(
            at_us=network.clock.now_us(),
            by=caller.name,
            id=records.next_payment(first.number),
            invoice=first.number,
            amount=parse_amount(amount, first.currency),
            currency=first.currency,
            received_on=day,
            reference=reference,
            request=request,
        )

    recorded = await _record_once(network, decide, request)
    if isinstance(recorded, Payment):
        wanted = _root(network, number), reference, parse_amount(amount, recorded.currency)
        if (recorded.invoice, recorded.reference, recorded.amount) == wanted:
            return recorded
    raise _other_request()


def today(network: Network) -> date:
    """Return the day in the time zone of the billing settings."""
    return day_of(network.clock.now_us(), network.directory.books.time_zone)


def addresses_in(document: Invoice, directory: Directory) -> dict[str, str]:
    """Return the addresses of a document's services by GCID: as issued, or else as they are now."""
    return {line.service: directory.address_of(line.service) for line in document.lines} | document.addresses


async def _record_once(
    network: Network, decide: Callable[[BillingRecords], BillingJournalEntry], request: str
) -> Invoice | Payment:
    """Write the entry that is decided on, unless its request has made a record before; returns the record."""
    if request:
        check_idempotency_key(request)
    for _ in range(TRIES):
        known = (await _records(network)).find_by_request(request)
        if known is not None:
            return known
        written = await _write(network, lambda records: _unless_known(records, request, decide))
        if written:
            return billing_record(written[0])
    raise _too_busy()


def _unless_known(
    records: BillingRecords, request: str, decide: Callable[[BillingRecords], BillingJournalEntry]
) -> Sequence[BillingJournalEntry]:
    return [] if records.find_by_request(request) is not None else [decide(records)]


async def _write(
    network: Network, decide: Callable[[BillingRecords], Sequence[BillingJournalEntry]]
) -> list[BillingJournalEntry]:
    return await network.configuration.record(lambda directory: decide(BillingRecords.of_directory(directory)))


async def _records(network: Network) -> BillingRecords:
    """Return the records as they are now, with those that other nodes have just written."""
    await network.wait_until_indexed()
    await network.configuration.load()
    return BillingRecords.of_directory(network.directory)


def _due(network: Network, period: str, counted: CountedMonth, records: BillingRecords) -> list[DueDocument]:
    return list_due_documents(period, counted, records, today(network), network.directory.books)


def _issue(
    network: Network,
    caller: Caller,
    period: str,
    counted: CountedMonth,
    addresses: Mapping[str, str],
    records: BillingRecords,
) -> list[BillingJournalEntry]:
    """Return the entries of the documents that are due; ``addresses`` are those of the services in their lines."""
    now_us = network.clock.now_us()
    return [
        InvoiceIssued(
            at_us=now_us,
            by=caller.name,
            document=issued_document(replace(document, addresses=dict(addresses))),
            follows=follows,
        )
        for document, follows in _due(network, period, counted, records)
    ]


async def _addresses(network: Network, documents: Sequence[Invoice]) -> dict[str, str]:
    """Return the addresses of the services in these documents, also of services that have been removed."""
    gcids = {line.service for document in documents for line in document.lines if line.service}
    return {gcid: await _address(network, gcid) for gcid in sorted(gcids)}


async def _address(network: Network, gcid: str) -> str:
    service: Service | None = network.directory.services.get(gcid)
    if service is not None:
        return service.address
    versions = await list_versions(network, "service", gcid)
    return next((one.value.address for one in versions if one.value is not None), gcid)


def _root(network: Network, number: str) -> str:
    return BillingRecords.of_directory(network.directory).root(number).number


def require_operator(caller: Caller) -> None:
    """Refuse everyone but the network's operators."""
    if not caller.operator:
        raise permission_denied(OPERATORS_ONLY)


def _other_request() -> Refused:
    return Refused("idempotency.mismatch", "This Idempotency-Key was used for another credit or payment; use a new one")


def _too_busy() -> Unavailable:
    return Unavailable("network.unavailable", "Other operators are issuing all the time; try again")
