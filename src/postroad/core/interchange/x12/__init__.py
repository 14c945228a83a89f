"""X12: interchanges of transaction sets in functional groups, between ISA and IEA.

    examine, split, split_stream   a split interchange; errors reported, repaired or refused
    assemble                       sets put together, as a stream; the position of each is reported
    acknowledge                    TA1, 997 and 999 for what came
    read_answers                   TA1, 997 and 999 that came, for what we sent

``delimiters.py`` draws ISA, ``envelopes.py`` lists envelope options, ``acknowledgement_codes.py`` the meaning of codes.
"""

from __future__ import annotations

from postroad.core.interchange.model import PartnerStatus
from postroad.core.interchange.x12.acknowledgements import X12Acknowledgements, acknowledge, read_answers
from postroad.core.interchange.x12.assembler import assemble
from postroad.core.interchange.x12.delimiters import X12Delimiters
from postroad.core.interchange.x12.envelopes import answering
from postroad.core.interchange.x12.splitter import examine, examine_stream, judge_split, split, split_stream

__all__ = [
    "PartnerStatus",
    "X12Acknowledgements",
    "X12Delimiters",
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
