"""Many messages cut into calls that the network takes: by number and by size, in order, one chunk in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.model.message import Message

MESSAGES_MOST = 1000
BYTES_MOST = 8 << 20
HEADER_BYTES = 512  # a generous guess at what a message weighs beside its parts


def chunks(
    messages: Iterable[Message], messages_most: int = MESSAGES_MOST, bytes_most: int = BYTES_MOST
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
