"""HL7 version 2: messages alone, and in batches and files (BHS…BTS, FHS…FTS).

    examine, split          what is in the bytes; what is wrong told or refused
    assemble                messages put together, as a stream; the position of each is reported
    acknowledge             ACK for what came, in original and enhanced mode
    read_answers            answers that came, for what we sent

``separators.py`` draws MSH, ``assembler.py`` lists envelope options.
"""

from __future__ import annotations

from postroad.core.interchange.hl7.acknowledgements import Hl7Acknowledgement, acknowledge, answering, read_answers
from postroad.core.interchange.hl7.assembler import assemble
from postroad.core.interchange.hl7.separators import Separators
from postroad.core.interchange.hl7.splitter import examine, judge_split, split, split_stream
from postroad.core.interchange.model import PartnerStatus

__all__ = [
    "Hl7Acknowledgement",
    "PartnerStatus",
    "Separators",
    "acknowledge",
    "answering",
    "assemble",
    "examine",
    "judge_split",
    "read_answers",
    "split",
    "split_stream",
]
