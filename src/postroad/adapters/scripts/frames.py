"""Calls to a script worker: check one script, or run many about one message. Outcomes are as for Saxon's workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from postroad.adapters.confined.frames import OVERHEAD_BYTES

Shape = Literal["json", "xml", ""]  # what the text is to be read as; empty for nothing
Plain = str | bool | int | float | list[Any] | None  # a header's value as a script sees it; a list is of such values


class ScriptMessage(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The message that scripts receive. ``fault`` explains why there is no text, or why it is not parsed."""

    text: str | None = None
    shape: Shape = ""
    media_type: str = ""
    headers: dict[str, Plain] = {}
    fault: str = ""


class ScriptCheck(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A call that checks whether a script can be run."""

    source: str

    @property
    def weight(self) -> int:
        return 1

    @property
    def largest_outcome(self) -> int:
        return OVERHEAD_BYTES


class ScriptBatch(msgspec.Struct, frozen=True, array_like=True, kw_only=True, tag=True):
    """Many scripts about one message."""

    scripts: tuple[str, ...]
    message: ScriptMessage
    output_limit: int

    @property
    def source(self) -> str:
        """The script to blame if the worker dies; empty while there are several."""
        return self.scripts[0] if len(self.scripts) == 1 else ""

    @property
    def weight(self) -> int:
        return len(self.scripts)

    @property
    def largest_outcome(self) -> int:
        return self.output_limit + OVERHEAD_BYTES * len(self.scripts)


read_asked: Callable[[bytes], ScriptCheck | ScriptBatch] = msgspec.msgpack.Decoder(ScriptCheck | ScriptBatch).decode
