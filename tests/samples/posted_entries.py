"""Journal entries of posts, for tests that read entries."""

from __future__ import annotations

from typing import Any

from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.testing.clocks import EPOCH_US


def make_posted(**fields: Any) -> MessagePosted:
    """Return the entry of a notification with one copy."""
    values = {
        "at_us": EPOCH_US,
        "session": "0" * 32,
        "transaction": "0" * 32,
        "sender": "00000000000000b1",
        "type": MessageType.NOTIFICATION,
        "topic": "",
        "size": 5,
        "form": "json",
        "expires_at_us": 0,
        "directory": 1,
        "parts": (),
        "copies": (Copy("Acme/Supply", (Hop("00000000000000a1"),)),),
    } | fields
    return MessagePosted(**values)  # type: ignore[arg-type]
