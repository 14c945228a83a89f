"""The section ``billing`` of a document: the books, the tariffs, and the records of what was billed and paid.

It belongs to the network as a whole, so it is for operators. Tariffs that a document leaves out stay as they are unless it is
applied with pruning; records are only ever added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from postroad.core.billing.tariffs import find_contradictions
from postroad.core.configuration.change_plan import ObjectStep, PlanningContext, WantedObject
from postroad.core.configuration.document import pointer
from postroad.core.configuration.entries.billing_records import BillingEntry, record_errors
from postroad.core.configuration.entries.tariffs import TariffEntry, tariff_entry
from postroad.core.model.billing import BillingSettings, Invoice, Payment, Rate, Tariff
from postroad.core.model.snapshot import Directory

UNCHANGEABLE = "is immutable; correct it with another record: `postroad billing close`, `credit` or `pay`"


def wanted_billing(
    entry: BillingEntry, after: Directory, planning: PlanningContext, *, prune: bool
) -> list[WantedObject]:
    """Return the billing objects that the document asks for; ``after`` is the planned directory."""
    tariffs = list(_tariffs(entry, after, planning))
    _check_tariffs(tariffs, () if prune else planning.directory.tariffs, planning)
    books = [WantedObject("/billing/books", entry.books.books(), "books")] if entry.books else []
    _check_books([item.value for item in books], planning)
    records = [*_invoices(entry), *_payments(entry)]
    _check_records(records, planning)
    return books + tariffs + records


def _tariffs(entry: BillingEntry, after: Directory, planning: PlanningContext) -> Iterator[WantedObject]:
    for name, versions in (entry.tariffs or {}).items():
        months = [version.valid_from for version in versions]
        if len(set(months)) != len(months):
            planning.fault(pointer("billing", "tariffs", name), "two versions apply from the same month")
        for number, version in enumerate(versions):
            place = pointer("billing", "tariffs", name, number)
            rates = _rates(name, version, place, after, planning)
            tariff = version.tariff(name, _organizations(version, place, after, planning), rates)
            yield WantedObject(place, tariff, billing_name(tariff))


def _organizations(version: TariffEntry, place: str, after: Directory, planning: PlanningContext) -> tuple[str, ...]:
    """Return the organization names as the directory spells them."""
    known = []
    for name in version.organizations:
        organization = after.organization(name)
        if organization is None:
            planning.fault(f"{place}/organizations", f"organization {name} does not exist")
        else:
            known.append(organization.name)
    return tuple(known)


def _rates(
    tariff: str, version: TariffEntry, place: str, after: Directory, planning: PlanningContext
) -> dict[str, Rate]:
    """Return rates by GCID; a rate of a removed service stays until the document drops it.

    A price of a service that has gone stays until it is taken out: what was used still costs that.
    """
    said = [one for one in planning.directory.tariffs if (one.name, one.valid_from) == (tariff, version.valid_from)]
    known = {gcid for one in said for gcid in one.services}
    rates = {}
    for name, entry in version.services.items():
        service = after.service(name)
        if service is not None or name in known:
            rates[service.gcid if service is not None else name] = entry.rate()
        else:
            planning.fault(place + pointer("services", name), "the service does not exist")
    return rates


def with_addresses(step: ObjectStep, after: Directory) -> ObjectStep:
    """Return the step with services named by address, which is the same in every plan."""

    def named(rates: dict[str, Any] | None) -> dict[str, Any] | None:
        return rates and {after.address_of(gcid): rate for gcid, rate in rates.items()}

    fields = [
        replace(one, before=named(one.before), after=named(one.after)) if one.field == "services" else one
        for one in step.fields
    ]
    return replace(step, fields=tuple(fields))


def _check_tariffs(wanted: list[WantedObject], others: tuple[Tariff, ...], planning: PlanningContext) -> None:
    places = {item.value.key: item.place for item in wanted}
    if not places:
        return
    known = {tariff.key: tariff for tariff in others} | {item.value.key: item.value for item in wanted}
    for tariff, fault in find_contradictions(known.values()):
        planning.fault(places.get(tariff.key, "/billing/tariffs"), fault)


def _check_books(wanted: list[BillingSettings], planning: PlanningContext) -> None:
    directory = planning.directory
    moved = [books for books in wanted if books.time_zone != directory.books.time_zone]
    if moved and directory.billing.get("invoice"):
        planning.fault(
            "/billing/books/timeZone", "invoices have been issued; months in another zone would overlap or leave a gap"
        )


def _invoices(entry: BillingEntry) -> Iterator[WantedObject]:
    for number, wish in entry.invoices.items():
        invoice = wish.invoice(number)
        yield WantedObject(pointer("billing", "invoices", number), invoice, billing_name(invoice))


def _payments(entry: BillingEntry) -> Iterator[WantedObject]:
    for id, wish in entry.payments.items():
        payment = wish.payment(id)
        yield WantedObject(pointer("billing", "payments", id), payment, billing_name(payment))


def _check_records(wanted: list[WantedObject], planning: PlanningContext) -> None:
    invoices = dict(planning.directory.billing.get("invoice", {}))
    invoices |= {item.value.number: item.value for item in wanted if isinstance(item.value, Invoice)}
    for place, record in ((item.place, item.value) for item in wanted):
        kind, key = ("invoice", record.number) if isinstance(record, Invoice) else ("payment", record.id)
        existing = planning.directory.object(kind, key)
        if existing is not None and existing != record:
            planning.fault(place, UNCHANGEABLE)
        for fault in record_errors(record):
            planning.fault(place, fault)
        named = record.corrects if isinstance(record, Invoice) else record.invoice
        if named and _is_unfit(record, invoices.get(named)):
            planning.fault(place, f"invoice {named} does not exist in {record.currency}")


def _is_unfit(record: Invoice | Payment, invoice: Invoice | None) -> bool:
    if invoice is None or invoice.currency != record.currency:
        return True
    same_account = isinstance(record, Payment) or invoice.organization == record.organization
    return not same_account or (isinstance(record, Invoice) and bool(invoice.corrects))


def prunable_billing(entry: BillingEntry, directory: Directory) -> tuple[Tariff, ...]:
    """Tariffs, where the document speaks of tariffs."""
    return directory.tariffs if entry.tariffs is not None else ()


def exported_billing(directory: Directory) -> dict[str, Any]:
    """Return the billing section as an export writes it; empty if nothing was configured."""
    exported: dict[str, Any] = {}
    if directory.billing.get("books"):
        books = directory.books
        exported["books"] = {"seller": books.seller, "timeZone": books.time_zone, "dueDays": books.due_days}
    versions: dict[str, list[dict[str, Any]]] = {}
    for tariff in sorted(directory.tariffs, key=lambda one: one.key):
        versions.setdefault(tariff.name, []).append(tariff_entry(tariff, directory))
    return exported | ({"tariffs": versions} if versions else {})


def billing_name(item: Tariff | Invoice | Payment) -> str:
    """Return the display name of a tariff, invoice or payment."""
    match item:
        case Tariff():
            return f"{item.name} from {item.valid_from}"
        case Invoice():
            return f"{item.number} of {item.organization}"
    return f"{item.id} for {item.invoice}"
