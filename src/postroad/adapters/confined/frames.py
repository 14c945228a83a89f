"""What the server and a worker process say to each other: a length in four bytes, then one msgpack record.

Kept rule: the server believes nothing but the shape of what a worker says. Records are typed, a frame has a largest size, and
there is no pickle; so whoever took over a worker could still only answer wrongly to the calls that it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

HEADER_BYTES = 4
OVERHEAD_BYTES = 16_384  # of an outcome besides its output: code, detail, packing
LARGEST_SOURCE_BYTES = 256 * 1024
SPARE_OUTPUT_BYTES = 10 * 1024 * 1024
EXIT_MISCONFIGURED = 78
UNREADABLE = "document.unreadable"  # of a batch: no query can be asked about it

AnswerKind = Literal["no", "same", "xml", "entity", "text", "json", "html", "error"]


class Terms(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The first thing a worker hears: the limits that it must put on itself before it does anything else."""

    memory_bytes: int
    deadline_s: float
    settings: tuple[tuple[str, str], ...] = ()  # of the engine


class Ready(msgspec.Struct, frozen=True, array_like=True):
    """The worker's answer to its terms; with faults it ends at once."""

    faults: tuple[str, ...] = ()


class Call(Protocol):
    """What a pool needs to know of a record that it hands to a worker."""

    @property
    def source(self) -> str:
        """Who is to blame if the worker dies of it; empty for nobody."""
        ...

    @property
    def weight(self) -> int:
        """How much it wears out a worker."""
        ...

    @property
    def largest_outcome(self) -> int: ...


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Of one query or script; the text is the new content or the fault. A script may name the content's type."""

    kind: AnswerKind
    text: bytes = b""
    media_type: str = ""


class Answers(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Of a batch, one for each query."""

    answers: tuple[Answer, ...]

    @property
    def code(self) -> str:
        return ""


class Outcome(msgspec.Struct, frozen=True, array_like=True, kw_only=True, tag=True):
    """What became of it: the output, or a refusal's code, the reason, and the source's line where one is known."""

    output: bytes = b""
    code: str = ""
    detail: str = ""
    line: int = 0
    column: int = 0


encode = msgspec.msgpack.Encoder().encode
read_terms = msgspec.msgpack.Decoder(Terms).decode
read_ready = msgspec.msgpack.Decoder(Ready).decode
read_outcome: Callable[[bytes], Outcome | Answers] = msgspec.msgpack.Decoder(Outcome | Answers).decode


def framed(record: object) -> bytes:
    body = encode(record)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def output_limit(document_bytes: int) -> int:
    """How much may come out of a document of that size: what a translation needs, not what a bomb makes."""
    return 2 * document_bytes + SPARE_OUTPUT_BYTES
