"""An invoice or credit note as UBL 2.1, the XML that accounting programs read.

Amounts are net of taxes, which the seller's accounting adds. In a credit note amounts have the opposite sign, as UBL wants it.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Mapping
from decimal import Decimal

from postroad.core.billing.calendar import first_day
from postroad.core.billing.invoice_rows import line_text
from postroad.core.codecs.xml import parse
from postroad.core.codecs.xml_escape import text_value
from postroad.core.model.billing import DocumentKind, Invoice, InvoiceLine
from postroad.errors import Refused

NAMESPACE = "urn:oasis:names:specification:ubl:schema:xsd:"
INVOICE, CREDIT_NOTE = "380", "381"  # UN/EDIFACT 1001
PIECE = "C62"  # UN/ECE recommendation 20: one


def invoice_ubl(invoice: Invoice, addresses: Mapping[str, str]) -> str:
    """The document; ``addresses`` of services by GCID."""
    root = "CreditNote" if invoice.document is DocumentKind.CREDIT_NOTE else "Invoice"
    head = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}{root}-2" '
        f'xmlns:cac="{NAMESPACE}CommonAggregateComponents-2" xmlns:cbc="{NAMESPACE}CommonBasicComponents-2">'
    )
    return "\n".join([head, *(f"  {line}" for line in _content(invoice, addresses)), f"</{root}>\n"])


def read_document_number(xml: bytes) -> str:
    """Return the number of an invoice or credit note in UBL; raises Refused if the bytes are not one."""
    root = parse(xml)
    number = root.findtext(f"{{{NAMESPACE}CommonBasicComponents-2}}ID")
    if not number or root.tag not in {f"{{{NAMESPACE}{name}-2}}{name}" for name in ("Invoice", "CreditNote")}:
        raise Refused("format.unknown", "it is not an invoice or credit note in UBL 2.1")
    return str(number)


def _content(invoice: Invoice, addresses: Mapping[str, str]) -> Iterator[str]:
    is_credit = invoice.document is DocumentKind.CREDIT_NOTE
    begins = first_day(invoice.period)
    ends = begins.replace(day=monthrange(begins.year, begins.month)[1])
    yield from (_basic("UBLVersionID", "2.1"), _basic("ID", invoice.number))
    yield _basic("IssueDate", invoice.issued_on.isoformat())
    if is_credit:
        yield _basic("CreditNoteTypeCode", CREDIT_NOTE)
    else:
        yield from (_basic("DueDate", invoice.due_on.isoformat()), _basic("InvoiceTypeCode", INVOICE))
    if invoice.reason:
        yield _basic("Note", invoice.reason)
    yield _basic("DocumentCurrencyCode", invoice.currency)
    yield _group("InvoicePeriod", _basic("StartDate", begins.isoformat()), _basic("EndDate", ends.isoformat()))
    if invoice.corrects:
        yield _group("BillingReference", _group("InvoiceDocumentReference", _basic("ID", invoice.corrects)))
    yield _party("AccountingSupplierParty", invoice.seller)
    yield _party("AccountingCustomerParty", invoice.organization)
    sign = -1 if is_credit else 1
    total = sign * invoice.total
    sums = ("LineExtensionAmount", "TaxExclusiveAmount", "TaxInclusiveAmount", "PayableAmount")
    yield _group("LegalMonetaryTotal", *[_amount(name, total, invoice.currency) for name in sums])
    for line in invoice.lines:
        yield _line(line, sign, invoice, line_text(line, addresses))


def _line(line: InvoiceLine, sign: int, invoice: Invoice, text: str) -> str:
    kind, quantity = ("CreditNoteLine", "CreditedQuantity") if sign < 0 else ("InvoiceLine", "InvoicedQuantity")
    return _group(
        kind,
        _basic("ID", str(line.number)),
        f'<cbc:{quantity} unitCode="{PIECE}">{sign * line.quantity}</cbc:{quantity}>',
        _amount("LineExtensionAmount", sign * line.amount, invoice.currency),
        _group("Item", _basic("Name", text)),
    )


def _party(role: str, name: str) -> str:
    return _group(role, _group("Party", _group("PartyName", _basic("Name", name))))


def _amount(name: str, amount: Decimal, currency: str) -> str:
    return f'<cbc:{name} currencyID="{currency}">{amount + 0:f}</cbc:{name}>'  # of -0.00, what it is


def _basic(name: str, text: str) -> str:
    return f"<cbc:{name}>{text_value(text)}</cbc:{name}>"


def _group(name: str, *children: str) -> str:
    return f"<cac:{name}>{''.join(children)}</cac:{name}>"
