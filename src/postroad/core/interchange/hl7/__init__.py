"""HL7 version 2: messages alone, and in batches and files (BHS…BTS, FHS…FTS).

    examine, split          split bytes into messages; errors are reported or refused
    assemble                writes messages as a stream; reports the position of each message
    acknowledge             writes ACKs for received messages, in original and enhanced mode
    read_answers            reads received acknowledgments

``separators.py`` describes MSH, ``assembler.py`` lists envelope options.
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
