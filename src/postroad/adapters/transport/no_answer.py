"""Errors for a missing response; the transport turns them into a ``PushAnswer``.

Rule: the text is for the owner of a service. It never contains the address that a name resolved to, since that would
let members explore the operator's network.
"""

from __future__ import annotations

import ssl

from postroad.core.delivery.reasons import make_reason, reason_text
from postroad.core.model.reason import Reason


class NoAnswer(Exception):
    """There is no complete HTTP response; the reason's text has the cause, and what to do."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason_text(reason))
        self.reason = reason


class ClosedUnanswered(NoAnswer):
    """The receiver closed the connection before the first byte of its response."""


def find_reason(error: Exception) -> Reason:
    """Return the reason for a connection error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return make_reason("push.certificate", detail=error.verify_message)
    if isinstance(error, ssl.SSLError):
        return make_reason("push.tls", detail=(error.reason or "broken off").replace("_", " ").lower())
    if isinstance(error, ConnectionRefusedError):
        return make_reason("push.nothing-listens")
    if isinstance(error, ConnectionError):
        return make_reason("push.broken-off")
    if isinstance(error, TimeoutError):
        return make_reason("push.connect-timeout")
    strerror = getattr(error, "strerror", None)
    return make_reason("push.unreachable", detail=strerror or type(error).__name__)
