"""The call that the server sends to a worker that reads bodies."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from postroad.flow.stages.body_reader import LargeBody, ReadBody

SPARE_BYTES = 1 << 20


class ReadingCall(msgspec.Struct, frozen=True, array_like=True):
    """One body to read."""

    large: LargeBody

    @property
    def source(self) -> str:
        return ""

    @property
    def weight(self) -> int:
        return 1

    @property
    def largest_outcome(self) -> int:
        return 3 * len(self.large.body) + SPARE_BYTES


read_reading: Callable[[bytes], ReadingCall] = msgspec.msgpack.Decoder(ReadingCall).decode
read_answer: Callable[[bytes], ReadBody] = msgspec.msgpack.Decoder(ReadBody).decode
