"""X12: interchanges of transaction sets in functional groups, between ISA and IEA.

    examine, split, split_stream   an interchange taken apart; what is wrong told, repaired or refused
    assemble                       sets put together, as a stream; where each went is told
    acknowledge                    TA1, 997 and 999 for what came
    read_answers                   TA1, 997 and 999 that came, for what we sent

``delimiters.py`` draws ISA, ``envelopes.py`` lists what an envelope may say, ``answer_codes.py`` what codes mean.
"""

from __future__ import annotations

from postroad.core.interchange.nouns import Verdict
from postroad.core.interchange.x12.acknowledging import acknowledge
from postroad.core.interchange.x12.answers import Answers, read_answers
from postroad.core.interchange.x12.assembling import assemble
from postroad.core.interchange.x12.delimiters import Delimiters
from postroad.core.interchange.x12.envelopes import answering
from postroad.core.interchange.x12.splitting import examine, examine_stream, judged, split, split_stream

__all__ = [
    "Answers",
    "Delimiters",
    "Verdict",
    "acknowledge",
    "answering",
    "assemble",
    "examine",
    "examine_stream",
    "judged",
    "read_answers",
    "split",
    "split_stream",
]
