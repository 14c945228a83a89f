"""Buffer types of the codecs: bytes, or views into them, so that documents are not copied."""

from __future__ import annotations

Buffer = bytes | memoryview


def whole_bytes(buffer: Buffer) -> bytes:
    """The buffer as bytes, which can be searched; a view of all of some bytes is those bytes, another view is copied."""
    if isinstance(buffer, bytes):
        return buffer
    source = buffer.obj
    if isinstance(source, bytes) and len(source) == buffer.nbytes and buffer.c_contiguous:
        return source
    return bytes(buffer)
