"""What runs in a worker process that reads bodies: confine yourself, then read until the server is gone."""

from __future__ import annotations

import sys

from postroad.adapters.confined import confinement
from postroad.adapters.confined.frames import EXIT_MISCONFIGURED, Outcome, Ready, Terms, encode, framed, read_terms
from postroad.adapters.confined.servers_line import ServersLine
from postroad.errors import Misconfigured

OUT_OF_MEMORY = Outcome(code="transform.memory", detail="it needs too much memory")


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
    from postroad.adapters.reading.frames import Reading, read_reading  # only now, with the limits in place
    from postroad.flow.reading import LargeBody, read_body

    def answered(reading: Reading) -> Outcome:
        try:
            return Outcome(output=encode(read_body(reading.large)))
        except MemoryError:
            return OUT_OF_MEMORY

    for kind, body in (("text/xml", b"<a/>"), ("application/json", b"{}")):  # loads what is loaded late
        read_body(LargeBody(kind="post", body=body, content_type=kind, message_bytes=100))
    confinement.close_doors()
    server.say(framed(Ready()))
    while frame := server.heard():
        confinement.limit_cpu(terms.deadline_s)
        server.say(framed(answered(read_reading(frame))))


if __name__ == "__main__":
    sys.exit(main())
