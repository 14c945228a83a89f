"""Main function of a script worker: confines itself, then runs scripts until the server exits."""

from __future__ import annotations

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
from postroad.adapters.confined.server_pipe import ServerPipe
from postroad.adapters.scripts.frames import ScriptBatch, ScriptCheck, read_asked
from postroad.errors import Misconfigured


def main() -> int:
    server = ServerPipe.take_over()
    try:
        serve(read_terms(server.heard()), server)
    except Misconfigured as refused:
        server.say(encode_frame(WorkerReady(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


def serve(terms: WorkerTerms, server: ServerPipe) -> None:
    confinement.limit_resources(terms.memory_bytes)
    from postroad.adapters.scripts.engine import OUT_OF_MEMORY, StarlarkEngine  # only now, with the limits in place

    engine = StarlarkEngine()

    def answer(asked: ScriptCheck | ScriptBatch) -> SourceAnswers | WorkerOutcome:
        try:
            return engine.answer(asked) if isinstance(asked, ScriptBatch) else engine.check(asked)
        except MemoryError:
            return OUT_OF_MEMORY

    engine.run_once()
    confinement.close_doors()
    server.say(encode_frame(WorkerReady()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(encode_frame(answer(read_asked(frame))))
