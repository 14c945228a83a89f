"""Reads bodies. Runs only in a worker process."""

from __future__ import annotations

from collections.abc import Callable

from postroad.adapters.confined.frames import WorkerOutcome, WorkerTerms, encode
from postroad.adapters.large_bodies.frames import read_reading
from postroad.flow.stages.body_reader import LargeBody, read_body

OUT_OF_MEMORY = WorkerOutcome(code="transform.memory", detail="it needs too much memory")


def load_engine(_: WorkerTerms) -> Callable[[bytes], WorkerOutcome]:
    """Load what reading needs, while it can still be loaded; return the function that answers a call."""
    for kind, body in (("text/xml", b"<a/>"), ("application/json", b"{}")):
        read_body(LargeBody(kind="post", body=body, content_type=kind, message_bytes=100))
    return answer


def answer(frame: bytes) -> WorkerOutcome:
    try:
        return WorkerOutcome(output=encode(read_body(read_reading(frame).large)))
    except MemoryError:
        return OUT_OF_MEMORY
