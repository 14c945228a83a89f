"""The pipes of a worker: the two that connect it to the server, and the one on its standard error.

Rule: standard error never blocks the writer, so however much an engine prints, 64 KB are kept and the rest is lost.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from postroad.adapters.confined.frames import HEADER_BYTES

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
_PIPE_BYTES = 65_536


class ServerPipe:
    """The two pipes to the server, under descriptors that no code writes to by accident."""

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self._reading = reading
        self._writing = writing

    @classmethod
    def take_over(cls) -> ServerPipe:
        line = cls(os.fdopen(os.dup(STANDARD_INPUT), "rb"), os.fdopen(os.dup(STANDARD_OUTPUT), "wb"))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, STANDARD_INPUT)
        os.dup2(nothing, STANDARD_OUTPUT)
        os.set_blocking(STANDARD_ERROR, False)  # a full pipe loses what is printed, and blocks no one up
        return line

    def receive_frame(self) -> bytes:
        """The next frame; empty when the server is gone."""
        header = self._reading.read(HEADER_BYTES)
        return self._reading.read(int.from_bytes(header, "big")) if len(header) == HEADER_BYTES else b""

    def send_frame(self, frame: bytes) -> None:
        self._writing.write(frame)
        self._writing.flush()


class StandardErrorPipe:
    """The reading end of the pipe on standard error."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    def take(self) -> str:
        """Text printed since the last call."""
        try:
            return os.read(self._descriptor, _PIPE_BYTES).decode("utf-8", "replace")
        except BlockingIOError:
            return ""
