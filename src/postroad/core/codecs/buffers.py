"""What codecs read from and write: bytes, or views into them, so that a document is handed on without being copied."""

from __future__ import annotations

Buffer = bytes | memoryview
