"""SWIFT FIN: messages of blocks in braces, many in one file as RJE or DOS-PCC.

    examine, split          a split file; messages that only follow each other are found too
    assemble                messages put together, as a stream; the position of each is reported
    read_answers            SWIFT's acknowledgments (F21) that came, for what we sent

Nothing is acknowledged by us: that is SWIFT's to do.
"""

from __future__ import annotations

from postroad.core.interchange.swift.acknowledgements import SwiftAcknowledgement, read_answers
from postroad.core.interchange.swift.assembler import assemble
from postroad.core.interchange.swift.splitter import examine, split

__all__ = ["SwiftAcknowledgement", "assemble", "examine", "read_answers", "split"]
