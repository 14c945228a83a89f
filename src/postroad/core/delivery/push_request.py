"""The request and the response of a push, as values.

Rule: every behaviour of a receiver, from a complete response to none, is a ``PushAnswer``; none is an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroad.core.delivery.reasons import reason_text
from postroad.core.model.reason import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRequest:
    """One attempt to hand a message to a service's server, always by POST."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # may contain credentials
    body: bytes = field(repr=False)
    certificate: tuple[str, str] | None = None  # files of the client certificate's chain and key
    certificate_pem: str = field(default="", repr=False)  # or both as PEM, if they are a stored secret
    timeout_s: float = 15.0  # for the whole attempt: resolving, connecting, sending and reading


@dataclass(frozen=True, slots=True, kw_only=True)
class PushAnswer:
    """The receiver's response; ``status`` is None if there was no complete HTTP response, see ``fault``."""

    status: int | None
    retry_after_s: float | None = None
    fault: Reason | None = None
    body: bytes = field(default=b"", repr=False)
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # names in lower case
    receipt: bytes = field(default=b"", repr=False)  # the receiver's signed MDN, unchanged
    final: bool = False  # the receiver refused, and a retry cannot help
    waits_s: float = 0.0  # the receiver has the message; maximum seconds until its MDN arrives

    @property
    def fault_text(self) -> str:
        """Return the text of the fault; empty if there is none."""
        return reason_text(self.fault) if self.fault is not None else ""
