"""The text of an invoice line."""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.model.billing import InvoiceLine

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
