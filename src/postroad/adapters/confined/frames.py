"""The protocol between the server and a worker process: a 4-byte length, then one msgpack record.

Rule: the server trusts nothing that a worker sends except its format. Records are typed, frames have a maximum size,
and there is no pickle; so an attacker who controls a worker can only answer its own calls wrongly.
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


class WorkerTerms(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The first message to a worker: the limits that it must impose on itself before anything else."""

    memory_bytes: int
    deadline_s: float
    settings: tuple[tuple[str, str], ...] = ()  # of the engine


class WorkerReady(msgspec.Struct, frozen=True, array_like=True):
    """The worker's answer to its terms; a worker that reports errors ends at once."""

    faults: tuple[str, ...] = ()


class WorkerCall(Protocol):
    """The interface of a record that a pool hands to a worker."""

    @property
    def source(self) -> str:
        """The source to blame if the worker dies; empty if there is none."""
        ...

    @property
    def weight(self) -> int:
        """The wear that the call adds to a worker."""
        ...

    @property
    def largest_outcome(self) -> int: ...


class SourceAnswer(msgspec.Struct, frozen=True, array_like=True):
    """The result of one query or script: new content or error text. A script may set the content type."""

    kind: AnswerKind
    text: bytes = b""
    media_type: str = ""


class SourceAnswers(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The results of a batch, one per query."""

    answers: tuple[SourceAnswer, ...]

    @property
    def code(self) -> str:
        return ""


class WorkerOutcome(msgspec.Struct, frozen=True, array_like=True, kw_only=True, tag=True):
    """The outcome of a call: its output, or an error code with the reason and, if known, the source line."""

    output: bytes = b""
    code: str = ""
    detail: str = ""
    line: int = 0
    column: int = 0


encode = msgspec.msgpack.Encoder().encode
read_terms = msgspec.msgpack.Decoder(WorkerTerms).decode
read_ready = msgspec.msgpack.Decoder(WorkerReady).decode
read_outcome: Callable[[bytes], WorkerOutcome | SourceAnswers] = msgspec.msgpack.Decoder(
    WorkerOutcome | SourceAnswers
).decode


def encode_frame(record: object) -> bytes:
    body = encode(record)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def output_limit(document_bytes: int) -> int:
    """The most bytes that a document of this size may produce: enough for a translation, too little for a bomb."""
    return 2 * document_bytes + SPARE_OUTPUT_BYTES
