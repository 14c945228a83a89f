"""Errors for a missing response; the transport turns them into a ``PushAnswer``.

Rule: the text is for the owner of a service. It never contains the address that a name resolved to, since that would
let members explore the operator's network.
"""

from __future__ import annotations

import ssl


class NoAnswer(Exception):
    """There is no complete HTTP response; the text contains the reason and what to do."""


class ClosedUnanswered(NoAnswer):
    """The receiver closed the connection before the first byte of its answer."""


def describe_error(error: Exception) -> str:
    """Return the error of the connection as text."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or 'broken off').replace('_', ' ').lower()}"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens on that port"
    if isinstance(error, ConnectionError):
        return "it broke the connection off"
    if isinstance(error, TimeoutError):
        return "it did not accept the connection in time"
    strerror = getattr(error, "strerror", None)
    return f"it cannot be reached ({strerror or type(error).__name__})"
