"""Invoices as CSV rows and as plain values, and the text of each line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any

import msgspec

from postroad.core.codecs.csv_cells import csv_cell
from postroad.core.model.billing import Invoice, InvoiceLine

COLUMNS = (
    *("number", "document", "corrects", "organization", "period", "currency", "issued_on", "due_on", "line", "text"),
    *("kind", "part", "service", "tariff", "quantity", "kilobytes", "micros", "amount"),
)
INTERNAL = ("addresses", "request")  # of a record, not of the document
TEXTS = {
    ("message", "originator"): "Messages sent by {service}",
    ("message", "in transit"): "Messages passing {service}",
    ("message", "recipient"): "Messages received by {service}",
    ("message", "payer"): "Messages at {service}, whose cost you took over",
    ("invocation", "originator"): "Work of {service} on messages you sent",
    ("invocation", "in transit"): "Work of {service}",
    ("invocation", "recipient"): "Work of {service} on messages you received",
    ("invocation", "payer"): "Work of {service}, whose cost you took over",
    ("invocation", "vendor"): "Your part for the work of {service}",
}


def line_text(line: InvoiceLine, addresses: Mapping[str, str]) -> str:
    """The line in words; ``addresses`` of services by GCID."""
    if line.text:
        return line.text
    service = addresses.get(line.service, line.service)
    text = TEXTS.get((line.kind, line.part))
    if text is None:  # invoices that earlier versions issued may have any
        return " ".join(word for word in (line.kind, line.part, service) if word)
    return text.format(service=service)


def as_csv(invoices: Iterable[Invoice], addresses: Mapping[str, str]) -> str:
    """One row per line of each invoice, under a row of names."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for invoice in invoices:
        writer.writerows([csv_cell(cell) for cell in row] for row in invoice_rows(invoice, addresses))
    return text.getvalue()


def invoice_rows(invoice: Invoice, addresses: Mapping[str, str]) -> list[list[Any]]:
    """The cells of ``COLUMNS`` for each line."""
    return [
        [
            *(invoice.number, invoice.document.value, invoice.corrects, invoice.organization, invoice.period),
            *(invoice.currency, invoice.issued_on, invoice.due_on, line.number, line_text(line, addresses)),
            *(line.kind, line.part, addresses.get(line.service, line.service), line.tariff),
            *(line.quantity, line.kilobytes, line.micros, f"{line.amount:f}"),
        ]
        for line in invoice.lines
    ]


def as_value(invoice: Invoice, addresses: Mapping[str, str]) -> dict[str, Any]:
    """The invoice with its lines worded; amounts are texts, so that no program makes floats of them."""
    value: dict[str, Any] = msgspec.to_builtins(invoice)
    for name in INTERNAL:
        del value[name]
    for entry, line in zip(value["lines"], invoice.lines, strict=True):
        entry |= {"text": line_text(line, addresses), "service": addresses.get(line.service, line.service)}
    return {_camel(name): item for name, item in value.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
