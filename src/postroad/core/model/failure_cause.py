"""The causes of dead letters, as people see them and filter by them."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Why deliveries fail, by what their owner can do about it."""

    REFUSED = "refused"  # the receiver's server said 4xx
    SERVER_ERROR = "server-error"  # it said 5xx, or asked for patience too often
    REDIRECTED = "redirected"
    NO_ANSWER = "no-answer"  # in time, or at all
    BAD_ANSWER = "bad-answer"  # it cannot be read, or what it carries cannot be accepted
    UNREACHABLE = "unreachable"
    TLS = "tls"
    ADDRESS_NOT_ALLOWED = "address-not-allowed"
    PUSH_SETTINGS = "push-settings"  # the profile lacks what it takes
    NOT_ACKNOWLEDGED = "not-acknowledged"  # polled again and again
    IN_TRANSIT = "failed-in-transit"  # a service on the way answered with an error
    MISROUTED = "misrouted"  # there was no valid way on, or back
    NOT_WHOLE = "not-whole"  # its format has no place for all of it, and the service wants nothing less
    INTERCHANGE = "interchange"  # it cannot be split, is a duplicate, or a message does not fit into one
    KEPT_BACK = "kept-back"  # at a service that another party isolates
    OTHER = "other"
