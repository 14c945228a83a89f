"""Main function of every worker process: confines itself, loads its engine, then serves calls until the server exits.

    python -I -c "…main(ENGINE)" SOURCE-FOLDER ENGINE DESCRIPTOR

ENGINE is a module with a function ``load_engine(terms)``, which loads everything that a call needs and returns the function
that answers a call's frame. Standard input and output carry the frames until ``main`` has moved them to other descriptors;
what is printed goes to the pipe whose reading end is DESCRIPTOR. The end of input means that the server is gone or does not
need this worker any more.

Rule: the engine is imported after the limits are in place, and reads nothing before the process is confined.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import (
    EXIT_MISCONFIGURED,
    SourceAnswers,
    WorkerOutcome,
    WorkerReady,
    WorkerTerms,
    encode_frame,
    read_terms,
)
from postroad.adapters.confined.pipes import ServerPipe
from postroad.errors import Misconfigured

CallAnswer = Callable[[bytes], WorkerOutcome | SourceAnswers]


def main(engine: str) -> int:
    server = ServerPipe.take_over()
    try:
        serve(read_terms(server.receive_frame()), server, engine)
    except Misconfigured as refused:
        server.send_frame(encode_frame(WorkerReady(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


def serve(terms: WorkerTerms, server: ServerPipe, engine: str) -> None:
    """Answers calls in the order in which they arrive."""
    confinement.limit_resources(terms.memory_bytes)
    answer: CallAnswer = import_module(engine).load_engine(terms)
    confinement.close_doors()
    server.send_frame(encode_frame(WorkerReady()))
    while frame := server.receive_frame():
        confinement.limit_cpu(terms.deadline_s)
        server.send_frame(encode_frame(answer(frame)))
