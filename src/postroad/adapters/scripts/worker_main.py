"""What runs in a worker process with scripts: confine yourself, then answer about scripts until the server is gone."""

from __future__ import annotations

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, Answers, Outcome, Ready, Terms, framed, read_terms
from postroad.adapters.confined.servers_line import ServersLine
from postroad.adapters.scripts.frames import ScriptBatch, ScriptCheck, read_asked
from postroad.errors import Misconfigured


def main() -> int:
    server = ServersLine.take_over()
    try:
        serve(read_terms(server.heard()), server)
    except Misconfigured as refused:
        server.say(framed(Ready(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


def serve(terms: Terms, server: ServersLine) -> None:
    confinement.limit_resources(terms.memory_bytes)
    from postroad.adapters.scripts.engine import OUT_OF_MEMORY, Engine  # only now, with the limits in place

    engine = Engine()

    def answer(asked: ScriptCheck | ScriptBatch) -> Answers | Outcome:
        try:
            return engine.answer(asked) if isinstance(asked, ScriptBatch) else engine.check(asked)
        except MemoryError:
            return OUT_OF_MEMORY

    engine.run_once()
    confinement.close_doors()
    server.say(framed(Ready()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(framed(answer(read_asked(frame))))
