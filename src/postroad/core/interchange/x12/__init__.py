"""X12: interchanges of transaction sets in functional groups, between ISA and IEA.

    examine, split, split_stream   an interchange taken apart; what is wrong told, repaired or refused
    assemble                       sets put together, as a stream; ``Placed`` says where each went
    acknowledge                    TA1, 997 and 999 for what came
    read_answers, match            TA1, 997 and 999 that came, for what we sent

``delimiters.py`` draws ISA, ``envelopes.py`` lists what an envelope may say, ``answer_codes.py`` what codes mean.
"""

from __future__ import annotations

from postroad.core.interchange.nouns import Verdict
from postroad.core.interchange.x12.acknowledging import acknowledge
from postroad.core.interchange.x12.answers import Answers, Matching, Outcome, match, read_answers
from postroad.core.interchange.x12.assembling import Placed, assemble
from postroad.core.interchange.x12.delimiters import Delimiters
from postroad.core.interchange.x12.envelopes import answering
from postroad.core.interchange.x12.splitting import examine, examine_stream, judged, split, split_stream

__all__ = [
    "Answers",
    "Delimiters",
    "Matching",
    "Outcome",
    "Placed",
    "Verdict",
    "acknowledge",
    "answering",
    "assemble",
    "examine",
    "examine_stream",
    "judged",
    "match",
    "read_answers",
    "split",
    "split_stream",
]
