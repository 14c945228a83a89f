"""What the server and a worker process say to each other: a length in four bytes, then one msgpack record.

Kept rule: the server believes nothing but the shape of what a worker says. Records are typed, a frame has a largest size, and
there is no pickle; so whoever took over a worker could still only answer wrongly to the calls that it was given.
"""

from __future__ import annotations

from typing import Literal

import msgspec

HEADER_BYTES = 4
OVERHEAD_BYTES = 16_384  # of an outcome besides its output: code, detail, packing
LARGEST_SOURCE_BYTES = 256 * 1024
SPARE_OUTPUT_BYTES = 10 * 1024 * 1024
EXIT_MISCONFIGURED = 78

Setting = tuple[str, str]
Task = Literal["check", "transform", "query"]


class Terms(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The first thing a worker hears: the limits that it must put on itself before it does anything else."""

    memory_bytes: int
    deadline_s: float
    settings: tuple[Setting, ...]


class Ready(msgspec.Struct, frozen=True, array_like=True):
    """The worker's answer to its terms; with faults it ends at once."""

    faults: tuple[str, ...] = ()


class Work(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One call. ``document`` is XML in UTF-8; ``source`` is the stylesheet or the query."""

    task: Task
    source: str
    document: bytes = b""
    parameters: dict[str, str] = {}
    output_limit: int = 0


class Outcome(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What became of it: the output, or a refusal's code, the reason, and the source's line where one is known."""

    output: bytes = b""
    code: str = ""
    detail: str = ""
    line: int = 0


encode = msgspec.msgpack.Encoder().encode
read_terms = msgspec.msgpack.Decoder(Terms).decode
read_ready = msgspec.msgpack.Decoder(Ready).decode
read_work = msgspec.msgpack.Decoder(Work).decode
read_outcome = msgspec.msgpack.Decoder(Outcome).decode


def framed(record: msgspec.Struct) -> bytes:
    body = encode(record)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def output_limit(document_bytes: int) -> int:
    """How much may come out of a document of that size: what a translation needs, not what a bomb makes."""
    return 2 * document_bytes + SPARE_OUTPUT_BYTES
