"""What runs in a validating worker process: confine yourself, then read calls and write outcomes until the server is gone."""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, Ready, Terms, framed, read_terms
from postroad.adapters.confined.servers_line import ServersLine
from postroad.adapters.validation.frames import read_call
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
    from postroad.adapters.validation.bench import Bench  # only now, with the limits in place

    bench = Bench()
    bench.run_once()
    confinement.close_doors()
    server.say(framed(Ready()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(framed(bench.perform(read_call(frame))))


if __name__ == "__main__":
    sys.exit(main())
