"""Split many messages into calls by number and size, in order, with one chunk in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.model.message import Message

MAX_MESSAGES = 1000
MAX_BYTES = 8 << 20
HEADER_BYTES = 512  # a generous guess at what a message weighs beside its parts


def split_chunks(
    messages: Iterable[Message], messages_most: int = MAX_MESSAGES, bytes_most: int = MAX_BYTES
) -> Iterator[list[Message]]:
    chunk: list[Message] = []
    chunk_bytes = 0
    for message in messages:
        size = HEADER_BYTES + sum(len(part.data) for part in message.parts)
        if chunk and (len(chunk) >= messages_most or chunk_bytes + size > bytes_most):
            yield chunk
            chunk, chunk_bytes = [], 0
        chunk.append(message)
        chunk_bytes += size
    if chunk:
        yield chunk
