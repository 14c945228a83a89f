"""SWIFT FIN: messages of blocks in braces, many in one file as RJE or DOS-PCC.

    examine, split          a file taken apart; messages that only follow each other are found too
    assemble                messages put together, as a stream; ``Placed`` says where each went
    read_answers, match     SWIFT's acknowledgements (F21) that came, for what we sent

Nothing is acknowledged by us: that is SWIFT's to do.
"""

from __future__ import annotations

from postroad.core.interchange.swift.answers import Answer, Matching, Outcome, match, read_answers
from postroad.core.interchange.swift.assembling import Placed, assemble
from postroad.core.interchange.swift.splitting import examine, split

__all__ = ["Answer", "Matching", "Outcome", "Placed", "assemble", "examine", "match", "read_answers", "split"]
