"""What a partner sent, opened by what was agreed on with it: interchanges, their documents, and what they say of ours.

Kept rules: bytes in which no interchange can be seen are refused, for then there is nobody to tell; of a message all is taken or
nothing. What is refused is given with everything that was found, so that the partner can be told why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postroad.core.codecs.buffers import Buffer
from postroad.core.documents.kinds import DocumentKind
from postroad.core.documents.sniff import document_kind
from postroad.core.interchange.answers import Said
from postroad.core.interchange.catalogue import Catalogue, Standard
from postroad.core.interchange.nouns import Split
from postroad.core.model.batch_policy import Splitting
from postroad.errors import Refused

RECOGNISED = {
    DocumentKind.X12: "x12",
    DocumentKind.EDIFACT: "edifact",
    DocumentKind.HL7: "hl7",
    DocumentKind.HL7_MLLP: "hl7",
    DocumentKind.SWIFT_FIN: "swift",
    DocumentKind.ISO20022: "iso20022",
    DocumentKind.GS1: "gs1",
    DocumentKind.SBDH: "gs1",
    DocumentKind.JSON_LINES: "json_lines",
}


Answers = tuple[tuple[Split, tuple[Said, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """All interchanges of one part of a message."""

    standard: Standard
    found: tuple[Split, ...]  # as they may pass; where they may not, as they came
    refusal: Refused | None = None  # why nothing of it is taken
    said: Answers = ()  # what each interchange says of ours, where it says anything


def opened(data: Buffer, agreed: Splitting, catalogue: Catalogue) -> Opened:
    """The interchanges in these bytes; raises Refused where there are none."""
    standard = catalogue.standard(agreed.standard or _recognised(data))
    if standard.split is None:
        raise Refused("interchange.unfit", f"interchanges of {standard.name} cannot be taken apart")
    if standard.examine is None or standard.judged is None:
        facts: Mapping[str, str] = dict(agreed.facts)
        return _read(standard, tuple(standard.split(data, agreed.dirt, facts)))
    examined = tuple(standard.examine(data))
    try:
        return _read(standard, tuple([standard.judged(one, agreed.dirt) for one in examined]))
    except Refused as refusal:
        return Opened(standard=standard, found=examined, refusal=refusal)


def _read(standard: Standard, found: tuple[Split, ...]) -> Opened:
    """With what is said, which must make sense before anything is taken."""
    told = [(one, standard.answers(one)) for one in found] if standard.answers is not None else []
    return Opened(standard=standard, found=found, said=tuple([(one, said) for one, said in told if said]))


def _recognised(data: Buffer) -> str:
    kind = document_kind(data)
    if kind not in RECOGNISED:
        seen = f"it looks like {kind}" if kind else "nothing is recognised"
        raise Refused(
            "interchange.malformed", f"{seen}, and that is no interchange; say in the splitter's standard what comes"
        )
    return RECOGNISED[kind]
