"""The call that the server sends to a validating worker, and the errors that come back.

Rule: a schema is named by its digest, and its texts are sent only to a worker that does not have it; so a document
costs its own bytes, however large the catalogue is.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec

from postroad.adapters.confined.frames import OVERHEAD_BYTES
from postroad.core.model.asset import AssetKind

UNKNOWN = "schema.unknown"  # said by a worker only: send the texts as well
MAX_FAULTS = 20
TEXT_CHARS = 300  # of one fault; what is wrong may quote what is there
LARGEST_FAULTS = OVERHEAD_BYTES + MAX_FAULTS * 8 * TEXT_CHARS
ORDINARY_BYTES = 65_536


class Validation(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One call. Without a document the schema is only compiled."""

    digest: bytes
    kind: AssetKind
    name: str
    texts: dict[str, str] = {}
    document: bytes | None = None

    @property
    def source(self) -> str:
        """The schema to blame if the worker dies; empty if the document would be slow with any schema."""
        if self.document is None or len(self.document) <= ORDINARY_BYTES:
            return self.digest.hex()
        return self.digest.hex() + sha256(self.document).hexdigest()

    @property
    def weight(self) -> int:
        return 1

    @property
    def largest_outcome(self) -> int:
        return LARGEST_FAULTS


class FoundFault(msgspec.Struct, frozen=True, array_like=True):
    text: str
    line: int = 0
    path: str = ""


NO_REASON = FoundFault("it is not valid, for an unknown reason")  # never nothing, which would mean valid


read_call: Callable[[bytes], Validation] = msgspec.msgpack.Decoder(Validation).decode
read_faults: Callable[[bytes], list[FoundFault]] = msgspec.msgpack.Decoder(list[FoundFault]).decode
write_faults = msgspec.msgpack.Encoder().encode


def make_fault(text: str, line: int = 0, path: str = "") -> FoundFault:
    """Creates an error, truncated to the size limits."""
    told = " ".join(text.split())
    if len(told) > TEXT_CHARS:  # a long value stands somewhere in the middle; what is wrong with it, at either end
        told = f"{told[: TEXT_CHARS // 2]}…{told[1 - TEXT_CHARS // 2 :]}"
    return FoundFault(told, line, path[:TEXT_CHARS])
