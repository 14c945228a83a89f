"""Main function of a worker process that reads bodies: confines itself, then serves until the server exits."""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import (
    EXIT_MISCONFIGURED,
    WorkerOutcome,
    WorkerReady,
    WorkerTerms,
    encode,
    encode_frame,
    read_terms,
)
from postroad.adapters.confined.server_pipe import ServerPipe
from postroad.errors import Misconfigured

OUT_OF_MEMORY = WorkerOutcome(code="transform.memory", detail="it needs too much memory")


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
    from postroad.adapters.large_bodies.frames import ReadingCall, read_reading  # only now, with the limits in place
    from postroad.flow.stages.body_reader import LargeBody, read_body

    def answered(reading: ReadingCall) -> WorkerOutcome:
        try:
            return WorkerOutcome(output=encode(read_body(reading.large)))
        except MemoryError:
            return OUT_OF_MEMORY

    for kind, body in (("text/xml", b"<a/>"), ("application/json", b"{}")):  # loads what is loaded late
        read_body(LargeBody(kind="post", body=body, content_type=kind, message_bytes=100))
    confinement.close_doors()
    server.say(encode_frame(WorkerReady()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(encode_frame(answered(read_reading(frame))))


if __name__ == "__main__":
    sys.exit(main())
