"""SWIFT FIN: messages of blocks in braces, many in one file as RJE or DOS-PCC.

    examine, split          split a file; messages without separators are found too
    assemble                writes messages as a stream; reports the position of each message
    read_answers            reads SWIFT's acknowledgments (F21) of sent messages

The network sends no acknowledgments: SWIFT does.
"""

from __future__ import annotations

from postroad.core.interchange.swift.acknowledgements import SwiftAcknowledgement, read_answers
from postroad.core.interchange.swift.assembler import assemble
from postroad.core.interchange.swift.splitter import examine, split

__all__ = ["SwiftAcknowledgement", "assemble", "examine", "read_answers", "split"]
