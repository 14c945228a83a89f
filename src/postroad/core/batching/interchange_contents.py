"""Converts messages to batch members, and closed batches to interchange envelopes.

Rule: the server and warehouse jobs both use this module, so they count the same bytes, see the same types and write
the same envelope. The interchange is dated by the closing of its batch, not by its assembly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from postroad.core.codecs.buffers import Buffer
from postroad.core.documents.detection import BusinessDocumentKind, document_kind
from postroad.core.interchange.model import Envelope
from postroad.core.model.batch import Batch, BatchMember
from postroad.core.model.batch_policy import Batching
from postroad.core.model.message import Part

NO_DOCUMENT = Part(id="1", content_type="application/octet-stream", data=b"")
_LOOK = 4096  # first bytes, which are enough to detect the type of a document
_ALONE = re.compile(rb"\s*ST([^A-Za-z0-9\s])([A-Z0-9]{3})\1")  # a transaction set without an interchange
_SET = re.compile(rb"(?:^|[^A-Za-z0-9])\s*ST([^A-Za-z0-9\s])([A-Z0-9]{3})\1")
_EDIFACT = re.compile(rb"UNH[^A-Za-z0-9][^+:\x1d\x1f]{1,14}[^A-Za-z0-9]([A-Z0-9]{1,6})[^A-Za-z0-9]")
_HL7_TYPE = 8  # elements before MSH-9, counting the separator as the first
_SWIFT = re.compile(rb"\{2:[IO]([0-9]{3})")


def document_of(parts: Sequence[Part]) -> Part:
    """Return the part that goes into an interchange: the first document, or else the first attachment."""
    documents = [part for part in parts if not part.attachment]
    return (documents or list(parts) or [NO_DOCUMENT])[0]


def member_of(number: int, parts: Sequence[Part]) -> BatchMember:
    """Return the message as a member, without its sort values; ``arrival_of`` adds these."""
    data = document_of(parts).data
    return BatchMember(number=number, bytes=len(data), kind=document_type(data))


def document_type(data: Buffer) -> str:
    """Return the type of a business document in its standard's terms (850, ORDERS, ADT^A01, 103), or its kind."""
    beginning = bytes(data[:_LOOK])
    alone = _ALONE.match(beginning)
    if alone is not None:
        return alone.group(2).decode()
    kind = document_kind(data)
    typed = _TYPES.get(kind)
    return (typed(beginning) if typed is not None else "") or kind.value


def envelope_of(batching: Batching, batch: Batch) -> Envelope:
    """Return the interchange envelope of a closed batch."""
    return Envelope(
        sender=batching.sender,
        receiver=batching.receiver,
        at_us=batch.closed_at_us,
        options=dict(batching.envelope),
    )


def _set_type(beginning: bytes) -> str:
    found = _SET.search(beginning)
    return found.group(2).decode() if found is not None else ""


def _message_type(beginning: bytes) -> str:
    found = _EDIFACT.search(beginning)
    return found.group(1).decode() if found is not None else ""


def _hl7_type(beginning: bytes) -> str:
    at = beginning.find(b"MSH")
    header = beginning[at:].split(b"\r", 1)[0] if at >= 0 else b""
    fields = header.split(header[3:4]) if len(header) > 3 else []
    return fields[_HL7_TYPE].decode("utf-8", "replace") if len(fields) > _HL7_TYPE else ""


def _swift_type(beginning: bytes) -> str:
    found = _SWIFT.search(beginning)
    return found.group(1).decode() if found is not None else ""


_TYPES: dict[BusinessDocumentKind, Callable[[bytes], str]] = {
    BusinessDocumentKind.X12: _set_type,
    BusinessDocumentKind.EDIFACT: _message_type,
    BusinessDocumentKind.HL7: _hl7_type,
    BusinessDocumentKind.HL7_MLLP: _hl7_type,
    BusinessDocumentKind.SWIFT_FIN: _swift_type,
}
