"""Main function of a validating worker: confines itself, then serves calls until the server exits."""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, WorkerReady, WorkerTerms, encode_frame, read_terms
from postroad.adapters.confined.server_pipe import ServerPipe
from postroad.adapters.validation.frames import read_call
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
    from postroad.adapters.validation.schema_cache import SchemaCache  # only now, with the limits in place

    bench = SchemaCache()
    bench.run_once()
    confinement.close_doors()
    server.say(encode_frame(WorkerReady()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(encode_frame(bench.perform(read_call(frame))))


if __name__ == "__main__":
    sys.exit(main())
