"""What runs in a worker process: confine yourself, then read work and write outcomes until the server is gone.

    python -I -c "…main()" SOURCE-FOLDER MODULE DESCRIPTOR

Standard input and output carry the frames until ``main`` has moved them out of reach; what Saxon then prints goes to the pipe
whose reading end is DESCRIPTOR. The end of input means that the server is gone or does not need this worker any more.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from postroad.adapters.saxon import confinement
from postroad.adapters.saxon.complaints import Printed
from postroad.adapters.saxon.frames import (
    EXIT_MISCONFIGURED,
    HEADER_BYTES,
    Batch,
    Ready,
    Terms,
    framed,
    read_terms,
    read_work,
)
from postroad.errors import Misconfigured

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2


def main() -> int:
    server = ServersLine.take_over()
    printed = Printed(int(sys.argv[-1]))
    try:
        serve(read_terms(server.heard()), server, printed)
    except Misconfigured as refused:
        server.say(framed(Ready(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


class ServersLine:
    """The two pipes to the server, under descriptors that nobody writes to by accident."""

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self._reading = reading
        self._writing = writing

    @classmethod
    def take_over(cls) -> ServersLine:
        line = cls(os.fdopen(os.dup(STANDARD_INPUT), "rb"), os.fdopen(os.dup(STANDARD_OUTPUT), "wb"))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, STANDARD_INPUT)
        os.dup2(nothing, STANDARD_OUTPUT)
        os.set_blocking(STANDARD_ERROR, False)  # a full pipe loses what is printed, and holds nobody up
        return line

    def heard(self) -> bytes:
        """The next frame; empty when the server is gone."""
        header = self._reading.read(HEADER_BYTES)
        return self._reading.read(int.from_bytes(header, "big")) if len(header) == HEADER_BYTES else b""

    def say(self, frame: bytes) -> None:
        self._writing.write(frame)
        self._writing.flush()


def serve(terms: Terms, server: ServersLine, printed: Printed) -> None:
    confinement.limit_resources(terms.memory_bytes)
    from postroad.adapters.saxon.engine import Engine  # only now, with the limits in place

    engine = Engine(terms.settings, printed)
    engine.run_once()
    confinement.close_doors()
    server.say(framed(Ready()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        work = read_work(frame)
        server.say(framed(engine.answer(work) if isinstance(work, Batch) else engine.perform(work)))
