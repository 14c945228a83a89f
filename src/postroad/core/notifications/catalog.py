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
        name="dead-letter",
        severity=Severity.ERROR,
        audience=_ORGANIZATION,
        title="Dead letters",
        meaning="Deliveries failed permanently. Both the sender and the owner of the service are notified, by service and cause.",
        advice="Fix the cause, then resend or drop the dead letters.",
        page="/dead-letters",
    ),
    EventKind(
        name="push.failing",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Pushes fail",
        meaning="All pushes to a service have failed for 1 hour (warning), or for 1 day (error).",
        advice="Check the endpoint of the service, and the network's address and credentials there.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="push.paused",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Pushes are paused",
        meaning="The circuit breaker of an endpoint is open: most of the latest pushes failed, and one is tried each minute. "
        "With acceptance shared, each node has its own breakers, and only those of the leading node are reported; `push.failing` "
        "counts the pushes of all nodes.",
        advice="Check the endpoint of the service. Pushing continues by itself when a push succeeds.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="push.switched-off",
        severity=Severity.ERROR,
        audience=_ORGANIZATION,
        title="Service switched to polling",
        meaning="The network no longer pushes to a service: its endpoint is gone or has failed for 5 days. Its messages wait.",
        advice="Set the right endpoint, then set the delivery of the service to push again.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="credential.expiring",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Credentials expire",
        meaning="An API key or registered certificate expires in 30, 14, 7 or 1 days, or has expired (the last two: errors).",
        advice="Add a successor, use it, then remove the old one.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="certificate.expiring",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Certificates expire",
        meaning="A certificate for pushes or AS2 expires in 30, 14, 7 or 1 days, or has expired (the last two: errors). "
        "Operators receive it for the certificate of the server.",
        advice="Replace the certificate.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="batch.suspended",
        severity=Severity.ERROR,
        audience=_ORGANIZATION,
        title="Batches are suspended",
        meaning="A batch could not be assembled or sent, and waits for a decision.",
        advice="Resume the batch when the cause is fixed, or drop it.",
        page="/batches",
        recovers=True,
    ),
    EventKind(
        name="batch.stuck",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Batches are stuck",
        meaning="A closed batch has not been sent for 1 hour, and is not paused.",
        advice="See the page of the batch for what it waits for.",
        page="/batches",
        recovers=True,
    ),
    EventKind(
        name="limit.usage",
        severity=Severity.WARNING,
        audience=_ORGANIZATION,
        title="Limits are nearly used up",
        meaning="The organization uses 80 % (warning) or 100 % (error) of its limit of waiting bytes or waiting deliveries.",
        advice="Let the recipients fetch their messages, or ask for a higher limit. At 100 %, new posts are refused.",
        page="/organization",
        recovers=True,
    ),
    EventKind(
        name="organization.suspended",
        severity=Severity.ERROR,
        audience=_ORGANIZATION,
        title="Organization suspended",
        meaning="The operators suspended the organization.",
        advice="Contact the operators.",
        page="/support",
        recovers=True,
    ),
    EventKind(
        name="service.suspended",
        severity=Severity.ERROR,
        audience=_ORGANIZATION,
        title="Services suspended",
        meaning="The operators suspended a service.",
        advice="Contact the operators.",
        page="/services",
        recovers=True,
    ),
    EventKind(
        name="member.invited",
        severity=Severity.INFO,
        audience=_ORGANIZATION,
        title="Members invited",
        meaning="Someone was invited to the organization.",
        advice="Remove the member if the invitation is a mistake.",
        page="/organization",
    ),
    EventKind(
        name="support.answered",
        severity=Severity.INFO,
        audience=_ORGANIZATION,
        title="Support answered",
        meaning="The operators answered a support request.",
        advice="Read the answer.",
        page="/support",
    ),
    EventKind(
        name="invoice.issued",
        severity=Severity.INFO,
        audience=_ORGANIZATION,
        title="Invoices issued",
        meaning="An invoice or a credit note was issued to the organization.",
        advice="See the document.",
        page="/billing",
    ),
    EventKind(
        name="support.asked",
        severity=Severity.INFO,
        audience=_OPERATORS,
        title="Support requests",
        meaning="A member opened a support request, or wrote to one.",
        advice="Answer it.",
        page="/support",
    ),
    EventKind(
        name="disk.low",
        severity=Severity.ERROR,
        audience=_OPERATORS,
        title="Disk space is low",
        meaning="Less than twice `least_free_bytes` is free in the data folder, below which posts are refused. Not with "
        "acceptance shared.",
        advice="Free disk space, enlarge the disk, or drop old bodies (`keep_bodies_days`).",
        page="/operators/health",
        recovers=True,
    ),
    EventKind(
        name="index.behind",
        severity=Severity.WARNING,
        audience=_OPERATORS,
        title="Index is behind",
        meaning="The index has not applied an entry that is older than 1 minute.",
        advice="See the log for the index's errors, and the load of the disk or of PostgreSQL.",
        page="/operators/health",
        recovers=True,
    ),
    EventKind(
        name="backup.old",
        severity=Severity.ERROR,
        audience=_OPERATORS,
        title="Backup is too old",
        meaning="The latest backup is older than 26 hours. Only where `postroad backup` has made one before.",
        advice="Run `postroad backup`, and check the job that should have run it.",
        page="/operators/health",
        recovers=True,
    ),
    EventKind(
        name="verify.old",
        severity=Severity.ERROR,
        audience=_OPERATORS,
        title="Verification is too old",
        meaning="No verification of a backup has succeeded for 8 days, or within 8 days after the first backup. It was not run, "
        "or it failed.",
        advice="Run `postroad backup verify`, and make a new backup if it fails.",
        page="/operators/health",
        recovers=True,
    ),
)
BY_NAME: dict[str, EventKind] = {kind.name: kind for kind in EVENTS}
EVENT_NAMES: tuple[str, ...] = tuple(BY_NAME)
TEST = EventKind(
    name="test",
    severity=Severity.INFO,
    audience=_ORGANIZATION,
    title="Test",
    meaning="Someone sent a test notification.",
    advice="Nothing. This notification shows that the channel works.",
    page="/notifications",
)


def find_kind(name: str) -> EventKind:
    """Return the kind of an event, also of the test event, which cannot be subscribed to."""
    return BY_NAME.get(name, TEST)
