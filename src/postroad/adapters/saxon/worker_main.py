"""Main function of a Saxon worker: confines itself, then serves calls until the server exits.

    python -I -c "…main()" SOURCE-FOLDER MODULE DESCRIPTOR

Standard input and output carry the frames until ``main`` has moved them to other descriptors; Saxon's output then
goes to the pipe whose reading end is DESCRIPTOR. The end of input means that the server is gone or does not need this
worker any more.
"""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, WorkerReady, WorkerTerms, encode_frame, read_terms
from postroad.adapters.confined.server_pipe import ServerPipe
from postroad.adapters.saxon.error_text import StandardErrorPipe
from postroad.adapters.saxon.frames import QueryBatch, read_work
from postroad.errors import Misconfigured


def main() -> int:
    server = ServerPipe.take_over()
    printed = StandardErrorPipe(int(sys.argv[-1]))
    try:
        serve(read_terms(server.heard()), server, printed)
    except Misconfigured as refused:
        server.say(encode_frame(WorkerReady(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


def serve(terms: WorkerTerms, server: ServerPipe, printed: StandardErrorPipe) -> None:
    confinement.limit_resources(terms.memory_bytes)
    from postroad.adapters.saxon.engine import SaxonEngine  # only now, with the limits in place

    engine = SaxonEngine(terms.settings, printed)
    engine.run_once()
    confinement.close_doors()
    server.say(encode_frame(WorkerReady()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        work = read_work(frame)
        server.say(encode_frame(engine.answer(work) if isinstance(work, QueryBatch) else engine.perform(work)))
