"""The catalog of events that people can be notified of.

Rule: the name of an event never changes its meaning. ``docs/reference/notifications.md`` is generated from this table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from postroad.core.model.subscription import Severity


class Audience(StrEnum):
    """Who is notified of an event unless a subscription names it."""

    ORGANIZATION = "organization"
    OPERATORS = "operators"


class EventKind(NamedTuple):
    """One kind of event: its name, its usual severity, and what its readers need to know."""

    name: str
    severity: Severity
    audience: Audience
    title: str  # of its notifications
    meaning: str  # when it occurs
    advice: str  # what to do
    page: str  # of the console
    recovers: bool = False  # it has an end, which closes it with a last notification


_ORGANIZATION, _OPERATORS = Audience.ORGANIZATION, Audience.OPERATORS

EVENTS: tuple[EventKind, ...] = (
    EventKind(
        "dead-letter",
        Severity.ERROR,
        _ORGANIZATION,
        "Dead letters",
        "Deliveries to a service failed permanently. There is one line for each service and cause.",
        "Fix the cause, then resend or drop the dead letters.",
        "/dead-letters",
    ),
    EventKind(
        "push.failing",
        Severity.WARNING,
        _ORGANIZATION,
        "Pushes fail",
        "All pushes to a service have failed for 1 hour (warning), or for 1 day (error).",
        "Check the endpoint of the service, and the network's address and credentials there.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "push.paused",
        Severity.WARNING,
        _ORGANIZATION,
        "Pushes are paused",
        "The circuit breaker of an endpoint is open: most of the latest pushes failed, and one push is tried each minute.",
        "Check the endpoint of the service. Pushing continues by itself when a push succeeds.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "push.switched-off",
        Severity.ERROR,
        _ORGANIZATION,
        "Service switched to polling",
        "The network no longer pushes to a service, because its endpoint is gone or has failed for 5 days. Its messages wait.",
        "Set the right endpoint, then set the delivery of the service to push again.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "credential.expiring",
        Severity.WARNING,
        _ORGANIZATION,
        "Credentials expire",
        "An API key or a registered certificate expires in 30, 14, 7 or 1 days, or has expired (the last two are errors).",
        "Add a successor, use it, then remove the old one.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "certificate.expiring",
        Severity.WARNING,
        _ORGANIZATION,
        "Certificates expire",
        "A certificate for pushes or AS2 expires in 30, 14, 7 or 1 days, or has expired (the last two are errors). Operators are "
        "notified of the server's certificate.",
        "Replace the certificate.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "batch.suspended",
        Severity.ERROR,
        _ORGANIZATION,
        "Batches are suspended",
        "A batch could not be assembled or sent, and waits for a decision.",
        "Resume the batch when the cause is fixed, or drop it.",
        "/batches",
        recovers=True,
    ),
    EventKind(
        "batch.stuck",
        Severity.WARNING,
        _ORGANIZATION,
        "Batches are stuck",
        "A closed batch has not been sent for 1 hour, and is not paused.",
        "See the page of the batch for what it waits for.",
        "/batches",
        recovers=True,
    ),
    EventKind(
        "limit.usage",
        Severity.WARNING,
        _ORGANIZATION,
        "Limits are nearly used up",
        "The organization uses 80 % (warning) or 100 % (error) of its limit of waiting bytes or waiting deliveries.",
        "Let the recipients fetch their messages, or ask the operators for a higher limit. At 100 %, new posts are refused.",
        "/organization",
        recovers=True,
    ),
    EventKind(
        "organization.suspended",
        Severity.ERROR,
        _ORGANIZATION,
        "Organization suspended",
        "The operators suspended the organization.",
        "Contact the operators.",
        "/support",
        recovers=True,
    ),
    EventKind(
        "service.suspended",
        Severity.ERROR,
        _ORGANIZATION,
        "Services suspended",
        "The operators suspended a service.",
        "Contact the operators.",
        "/services",
        recovers=True,
    ),
    EventKind(
        "member.invited",
        Severity.INFO,
        _ORGANIZATION,
        "Members invited",
        "Someone was invited to the organization.",
        "Remove the member if the invitation is a mistake.",
        "/organization",
    ),
    EventKind(
        "support.answered",
        Severity.INFO,
        _ORGANIZATION,
        "Support answered",
        "The operators answered a support request.",
        "Read the answer.",
        "/support",
    ),
    EventKind(
        "invoice.issued",
        Severity.INFO,
        _ORGANIZATION,
        "Invoices issued",
        "An invoice or a credit note was issued to the organization.",
        "See the document.",
        "/billing",
    ),
    EventKind(
        "support.asked",
        Severity.INFO,
        _OPERATORS,
        "Support requests",
        "A member opened a support request, or wrote to one.",
        "Answer it.",
        "/support",
    ),
    EventKind(
        "disk.low",
        Severity.ERROR,
        _OPERATORS,
        "Disk space is low",
        "Less than twice `least_free_bytes` is free in the data folder. Posts are refused below `least_free_bytes`.",
        "Free disk space, enlarge the disk, or drop old bodies (`keep_bodies_days`).",
        "/operators/health",
        recovers=True,
    ),
    EventKind(
        "index.behind",
        Severity.WARNING,
        _OPERATORS,
        "Index is behind",
        "The index has not applied an entry that is older than 1 minute.",
        "See the log for the index's errors, and the load of the disk or of PostgreSQL.",
        "/operators/health",
        recovers=True,
    ),
    EventKind(
        "backup.old",
        Severity.ERROR,
        _OPERATORS,
        "Backup is too old",
        "The latest backup is older than 26 hours. Only on nodes where a backup was made before.",
        "Run `postroad backup`, and check the job that should have run it.",
        "/operators/health",
        recovers=True,
    ),
    EventKind(
        "verify.failed",
        Severity.ERROR,
        _OPERATORS,
        "Verification failed",
        "The latest `postroad verify` of the journal or of a backup found an error.",
        "Run `postroad verify` again, and restore from a backup if the error persists.",
        "/operators/health",
        recovers=True,
    ),
)
BY_NAME: dict[str, EventKind] = {kind.name: kind for kind in EVENTS}
EVENT_NAMES: tuple[str, ...] = tuple(BY_NAME)
TEST = EventKind(
    "test",
    Severity.INFO,
    _ORGANIZATION,
    "Test",
    "Someone sent a test notification.",
    "Nothing. This notification shows that the channel works.",
    "/notifications",
)


def find_kind(name: str) -> EventKind:
    """Return the kind of an event, also of the test event, which cannot be subscribed to."""
    return BY_NAME.get(name, TEST)
