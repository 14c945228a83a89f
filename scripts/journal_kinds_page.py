"""The reference page of the kinds of journal entries, written from ``core/model/journal.py`` and what it is made of."""

from __future__ import annotations

from inspect import cleandoc

from postroad.core.model import (
    batch,
    billing_entries,
    cross_reference,
    exchange,
    interchange,
    journal,
    part_facts,
    route,
)
from scripts.source_comments import Field, fields

INTRODUCTION = """# Kinds of journal entries

<!-- Written by `python -m scripts.reference_pages`; a test compares. Change core/model/journal.py, not this page. -->

An entry is one thing that happened, whole. It is written as a MessagePack array: first its kind, then its fields in the order
given here. Fields are only ever added at the end, with a default, and a kind is never given another meaning, so a program written
for today's entries reads tomorrow's. Times are microseconds since 1970 (UTC); services are named by GCID. Bodies are no part of
an entry: the journal keeps them beside it, as [its format](journal-format.md) says, and the index makes
[its tables](tables.md) from entries alone.
"""

# What the code need not say, because the name says it to those who read the code.
MEANINGS = {
    "answers": "the delivery to which this message responds",
    "arguments": "what the service is invoked with",
    "at_us": "when",
    "attachment": "an attachment, and not a document",
    "by": "who: a GCID, an e-mail address, or `network`",
    "code": "stable code of the [refusal](errors.md)",
    "content_type": "content type",
    "copies": "one for each recipient",
    "copy": "which copy of the message, counted from 0",
    "delay_s": "it is not handed out again for this number of seconds",
    "deliveries": "numbers of the deliveries",
    "digest": "SHA-256 of the sealed bytes, in hex; empty: removed",
    "delivery": "number of the delivery",
    "detail": "in words",
    "duration_ms": "how long it took, in milliseconds",
    "expires_at_us": "when it expires; 0 = never",
    "form": "wire form: json, soap11, soap12, envelope; soap, swa, dime, mime, as2, cloudevents; or bulk, push, network",
    "headers": "other header fields that the sender set, in order: names and values",
    "handle": "the sender's own name for the message",
    "hop": "which service of the copy's route, counted from 0",
    "hops": "the services to pass, the recipient last",
    "id": "id of the part",
    "invoker": "GCID of the service that included it in the route",
    "journey": "the copy whose journey it is, by the number of its first delivery",
    "key": "name of the object",
    "kind": "kind of object",
    "lease_s": "length of the lease in seconds",
    "name": "name of the key",
    "named": "recipients as the poster wrote them",
    "objects": "the objects as they are from now on",
    "parts": "descriptions of documents and attachments",
    "possible_duplicate": "the poster's flag",
    "properties": "typed properties",
    "pairs": "names and values",
    "reason": "why",
    "session": "session of the message",
    "size": "bytes",
    "state": "`expired`, `cancelled`, `failed` or `rejected`",
    "status": "status of a response",
    "topic": "topic",
    "transaction": "the session that began the exchange",
    "type": "request, response, notification, acknowledgement or cancel",
    "value": "the object; none = removed",
    "version": "version of the object, counted from 1",
    "what": "what was done or tried",
    "SecretChanged.name": "its name",
    "SecretChanged.organization": "the organization that owns it",
    "SecretChanged.version": "number of its version, which is never used again",
    # where the same name means something else
    "Context.id": "number of the invocation",
    "Context.parent": "number of its invoker's invocation; 0: the sender",
    "ReturnedContext.context": "number of the invocation",
    "ReturnedContext.properties": "what it added",
    "CrossReferenceRecord.key": "the record's owner and its key",
    "Key.value": "value of the key",
    "Batch.id": "id of the batch",
    "Batch.state": "`open`, `closed`, `assembled`, `sent`, `suspended`, `dropped` or `dissolved`",
    "Batch.bytes": "of all its members",
    "Batch.count": "how many members it has",
    "Batch.opened_at_us": "when its first member joined",
    "Batch.changed_at_us": "when this happened",
    "Batch.closed_at_us": "when it was closed; 0 = not yet",
    "Batch.closed_by": "the criterion that closed it",
    "BatchMember.bytes": "size in bytes",
    "DrawnNumber.number": "the number",
    "DocumentPosition.interchange": "control reference of the interchange",
    "DocumentPosition.group": "of the group, where there is one",
    "DocumentPosition.kind": "type of the document",
    "DocumentPosition.reference": "control reference of the document",
    "DocumentPosition.facts": "other values that an acknowledgment needs: names and values",
    "AnsweredMember.delivery": "number of the delivery that joined the batch",
    "reasons": "the reasons that the partner gave",
    "IssuedDocument.document": "`invoice` or `credit note`",
    "IssuedLine.kind": "`message`, `invocation` or `credit`",
    "IssuedLine.part": "the role in which the organization pays, such as `originator`",
    "PaymentRecorded.id": "number of the invoice, and of the payment for it",
    "amount": "a decimal, as text",
    "corrects": "number of the invoice that it corrects",
    "currency": "three letters, such as EUR",
    "document": "the invoice or credit note, whole",
    "due_on": "the day by which it is to be paid",
    "invoice": "number of the invoice",
    "issued_on": "the day on which it was issued",
    "kilobytes": "kilobytes that were charged",
    "lines": "its lines",
    "micros": "the exact sum, in millionths of the currency",
    "number": "number of the document, which is never used again",
    "organization": "who pays",
    "period": "the month",
    "quantity": "how many charges it sums up",
    "received_on": "the day on which it was received",
    "reference": "text of the bank statement",
    "seller": "who issued it",
    "tariff": "name of the tariff and its first month",
    "total": "sum of the lines",
    "standard": "x12, edifact, hl7 …",
    "verdict": "the partner's status for it",
    "numbers": "the control numbers that it uses",
    "joined": "the deliveries that joined it, and what is known of them",
}

PARTS = (
    part_facts.PartFacts,
    part_facts.MessageArrival,
    route.Copy,
    route.Hop,
    route.Context,
    journal.ReturnedContext,
    journal.AnsweredDelivery,
    journal.JourneyEnding,
    exchange.Forwarded,
    batch.Batch,
    batch.BatchMember,
    interchange.AssembledInterchange,
    interchange.DrawnNumber,
    interchange.DocumentPosition,
    interchange.AnsweredMember,
    cross_reference.CrossReferenceRecord,
    cross_reference.Key,
    journal.ObjectChange,
    billing_entries.IssuedDocument,
    billing_entries.IssuedLine,
)


def render() -> str:
    kinds = zip(journal.KINDS, journal.Entry.__args__, strict=True)
    sections = [_section(kind, entry) for kind, entry in kinds]
    parts = ["## What entries are made of\n", *(_section(part.__name__, part, "###") for part in PARTS)]
    return "\n".join([INTRODUCTION, *sections, *parts])


def _section(title: str, kind: type, level: str = "##") -> str:
    rows = "".join(_row(kind, field) for field in fields(kind))
    about = f"{cleandoc(kind.__doc__)}\n\n" if kind.__doc__ else ""
    return f"{level} {title}\n\n{about}| field | type | default | meaning |\n|---|---|---|---|\n{rows}"


def _row(kind: type, field: Field) -> str:
    form = field.type.replace("|", "or")
    default = f"`{field.default}`" if field.default else ""
    meaning = field.comment or MEANINGS.get(f"{kind.__name__}.{field.name}") or MEANINGS[field.name]
    return f"| `{field.name}` | {form} | {default} | {meaning} |\n"
