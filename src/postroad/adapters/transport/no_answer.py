"""Errors for a missing response; the transport turns them into a ``PushAnswer``.

Rule: the sentence is read by the owner of a service. It never says which address a name has led to: that would let
members look around in the operator's network.
"""

from __future__ import annotations

import ssl


class NoAnswer(Exception):
    """There is no complete HTTP answer; the text says why, and what to do."""


class ClosedUnanswered(NoAnswer):
    """The receiver closed the connection before the first byte of its answer."""


def describe_error(error: Exception) -> str:
    """What went wrong on the connection."""
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
