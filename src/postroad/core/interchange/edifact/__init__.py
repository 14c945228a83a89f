"""EDIFACT: interchanges of messages, in groups or without, between UNB and UNZ.

    examine, split, split_stream   split an interchange; errors are reported, repaired or refused
    assemble                       writes messages as a stream; reports the position of each message
    acknowledge                    writes a CONTRL for a received interchange
    read_answers                   reads received CONTRL messages

``delimiters.py`` describes UNA, ``envelopes.py`` lists envelope options, ``acknowledgements.py`` the meaning of codes.
Interactive interchanges (UIB) and packages of binary objects (UNO) are refused.
"""

from __future__ import annotations

from postroad.core.interchange.edifact.acknowledgements import ContrlMessage, acknowledge, read_answers
from postroad.core.interchange.edifact.assembler import assemble
from postroad.core.interchange.edifact.delimiters import EdifactDelimiters
from postroad.core.interchange.edifact.envelopes import answering
from postroad.core.interchange.edifact.splitter import examine, examine_stream, judge_split, split, split_stream
from postroad.core.interchange.model import PartnerStatus

__all__ = [
    "ContrlMessage",
    "EdifactDelimiters",
    "PartnerStatus",
    "acknowledge",
    "answering",
    "assemble",
    "examine",
    "examine_stream",
    "judge_split",
    "read_answers",
    "split",
    "split_stream",
]
