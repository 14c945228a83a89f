"""HL7 version 2: messages alone, and in batches and files (BHS…BTS, FHS…FTS).

    examine, split          what is in the bytes; what is wrong told or refused
    assemble                messages put together, as a stream; where each went is told
    acknowledge             ACK for what came, in original and enhanced mode
    read_answers            answers that came, for what we sent

``separators.py`` draws MSH, ``assembling.py`` lists what an envelope may say.
"""

from __future__ import annotations

from postroad.core.interchange.hl7.acknowledging import Answer, acknowledge, answering, read_answers
from postroad.core.interchange.hl7.assembling import assemble
from postroad.core.interchange.hl7.separators import Separators
from postroad.core.interchange.hl7.splitting import examine, judged, split, split_stream
from postroad.core.interchange.nouns import Verdict

__all__ = [
    "Answer",
    "Separators",
    "Verdict",
    "acknowledge",
    "answering",
    "assemble",
    "examine",
    "judged",
    "read_answers",
    "split",
    "split_stream",
]
