"""Reads a partner's interchanges, documents and acknowledgments by the agreed options.

Rules: bytes without a recognisable interchange are refused, because there is no partner to notify. A message is accepted
completely or not at all. A refusal contains all findings, so that the partner can be notified of the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postroad.core.codecs.buffers import Buffer
from postroad.core.documents.detection import BusinessDocumentKind, document_kind
from postroad.core.interchange.acknowledgements import ReportedStatus
from postroad.core.interchange.model import Split
from postroad.core.interchange.standard import Standard, StandardCatalogue
from postroad.core.model.batch_policy import Splitting
from postroad.errors import Refused

RECOGNISED = {
    BusinessDocumentKind.X12: "x12",
    BusinessDocumentKind.EDIFACT: "edifact",
    BusinessDocumentKind.HL7: "hl7",
    BusinessDocumentKind.HL7_MLLP: "hl7",
    BusinessDocumentKind.SWIFT_FIN: "swift",
    BusinessDocumentKind.ISO20022: "iso20022",
    BusinessDocumentKind.GS1: "gs1",
    BusinessDocumentKind.SBDH: "gs1",
    BusinessDocumentKind.JSON_LINES: "json_lines",
}


Answers = tuple[tuple[Split, tuple[ReportedStatus, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedInterchanges:
    """All interchanges in one part of a message."""

    standard: Standard
    found: tuple[Split, ...]  # accepted or repaired; if refused, as received
    refusal: Refused | None = None  # reason if the message is refused
    said: Answers = ()  # statuses in each interchange of documents that we sent


def open_interchanges(data: Buffer, agreed: Splitting, catalogue: StandardCatalogue) -> OpenedInterchanges:
    """Read the interchanges in these bytes; raises Refused if there are none."""
    standard = catalogue.standard(agreed.standard or _recognised(data))
    if standard.split is None:
        raise Refused("interchange.unfit", f"interchanges of {standard.name} cannot be split")
    if standard.examine is None or standard.judged is None:
        facts: Mapping[str, str] = dict(agreed.options)
        return _read(standard, tuple(standard.split(data, agreed.on_envelope_error, facts)))
    examined = tuple(standard.examine(data))
    try:
        return _read(standard, tuple([standard.judged(one, agreed.on_envelope_error) for one in examined]))
    except Refused as refusal:
        return OpenedInterchanges(standard=standard, found=examined, refusal=refusal)


def _read(standard: Standard, found: tuple[Split, ...]) -> OpenedInterchanges:
    """Read the interchange after checking the declared options."""
    told = [(one, standard.answers(one)) for one in found] if standard.answers is not None else []
    return OpenedInterchanges(standard=standard, found=found, said=tuple([(one, said) for one, said in told if said]))


def _recognised(data: Buffer) -> str:
    kind = document_kind(data)
    if kind not in RECOGNISED:
        seen = f"detected {kind}" if kind else "no format was detected"
        raise Refused("interchange.malformed", f"{seen}, which is not an interchange; set the splitter's standard")
    return RECOGNISED[kind]
