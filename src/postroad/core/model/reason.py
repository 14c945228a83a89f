"""Machine-readable reasons: a code with the values in its text, and the causes of dead letters."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Reason(Struct, gc=False, frozen=True, array_like=True):
    """Why something failed or ended: a code of ``core.delivery.reasons``, and the values in its text by name."""

    code: str
    values: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """Return the value of that name, or an empty string."""
        return next((value for key, value in self.values if key == name), "")


class Cause(StrEnum):
    """Why deliveries fail, grouped by what their owner can do about it."""

    REFUSED = "refused"  # the receiver's server returned 4xx
    SERVER_ERROR = "server-error"  # the receiver's server returned 5xx, or 429 too often
    REDIRECTED = "redirected"
    NO_ANSWER = "no-answer"  # the receiver's server did not respond in time
    BAD_ANSWER = "bad-answer"  # the response cannot be read, or its message cannot be accepted
    UNREACHABLE = "unreachable"
    TLS = "tls"
    ADDRESS_NOT_ALLOWED = "address-not-allowed"
    PUSH_SETTINGS = "push-settings"  # the profile lacks a setting for pushes
    NOT_ACKNOWLEDGED = "not-acknowledged"  # polled too often without acknowledgment
    IN_TRANSIT = "failed-in-transit"  # an in-transit service returned an error
    MISROUTED = "misrouted"  # there was no valid route onward, or back
    NOT_WHOLE = "not-whole"  # its format cannot carry all of it, and the service requires that
    INTERCHANGE = "interchange"  # it cannot be split, is a duplicate, or does not fit into an interchange
    KEPT_BACK = "kept-back"  # at a service that is hidden from the viewer
    OTHER = "other"
