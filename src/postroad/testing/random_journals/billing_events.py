"""Random journal events of billing for property tests.

Rule: numbers do not repeat, and each document follows the one before it in its account.
"""

from __future__ import annotations

from datetime import date

from hypothesis import strategies as st

from postroad.core.model.billing import DocumentKind
from postroad.core.model.billing_entries import (
    InvoiceCredited,
    InvoiceIssued,
    IssuedDocument,
    IssuedLine,
    PaymentRecorded,
)
from postroad.core.model.journal import Entry
from postroad.testing.random_journals.state import JournalState
from postroad.testing.random_journals.values import Draw, sizes, times, words

amounts = st.decimals(-(10**6), 10**6, places=2)
days = st.dates(date(2020, 1, 1), date(2030, 1, 1))
lines = st.builds(
    IssuedLine,
    kind=words, part=words, service=words, tariff=words, quantity=sizes, kilobytes=sizes, micros=sizes,
    amount=amounts, text=words, address=words,
)  # fmt: skip


def bill(draw: Draw, story: JournalState) -> Entry:
    """Draw an invoice, a credit or a payment."""
    number = f"2026-10-{story.next_seq:04d}"
    if draw(st.booleans()):
        return PaymentRecorded(
            at_us=draw(times),
            by=draw(words),
            id=number,
            invoice=draw(words),
            amount=draw(amounts),
            currency="EUR",
            received_on=draw(days),
            reference=draw(words),
            request=number,
        )
    document = IssuedDocument(
        number=number,
        document=draw(st.sampled_from(DocumentKind)),
        organization=draw(words),
        period="2026-10",
        currency="EUR",
        issued_on=draw(days),
        due_on=draw(days),
        seller=draw(words),
        through=draw(sizes),
        tariffs=((draw(words), 1),),
        lines=tuple(draw(st.lists(lines, max_size=2))),
        total=draw(amounts),
        reason=draw(words),
    )
    follows = "" if story.next_seq == 1 else str(story.next_seq)
    if draw(st.booleans()):
        return InvoiceIssued(at_us=draw(times), by=draw(words), document=document, follows=follows)
    return InvoiceCredited(at_us=draw(times), by=draw(words), document=document, follows=follows, request=number)
