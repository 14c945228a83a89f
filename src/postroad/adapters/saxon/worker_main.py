"""What runs in a worker process: confine yourself, then read work and write outcomes until the server is gone.

    python -I -c "…main()" SOURCE-FOLDER MODULE DESCRIPTOR

Standard input and output carry the frames until ``main`` has moved them out of reach; what Saxon then prints goes to the pipe
whose reading end is DESCRIPTOR. The end of input means that the server is gone or does not need this worker any more.
"""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, Ready, Terms, framed, read_terms
from postroad.adapters.confined.servers_line import ServersLine
from postroad.adapters.saxon.complaints import Printed
from postroad.adapters.saxon.frames import Batch, read_work
from postroad.errors import Misconfigured


def main() -> int:
    server = ServersLine.take_over()
    printed = Printed(int(sys.argv[-1]))
    try:
        serve(read_terms(server.heard()), server, printed)
    except Misconfigured as refused:
        server.say(framed(Ready(refused.faults)))
        return EXIT_MISCONFIGURED
    return 0


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
