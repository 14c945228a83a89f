"""A subscription to notifications as people write it, and what is wrong with one."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import Field, StrictInt, model_validator

from postroad.core.configuration.shapes import EMAIL, StrictShape, Word, check_url
from postroad.core.model.directory import is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import (
    DIGEST_MINUTES,
    MAX_DIGEST_MINUTES,
    Channel,
    Severity,
    Subscription,
    is_reference,
)
from postroad.core.notifications.catalog import EVENT_NAMES

MAX_EMAIL_CHARS = 254


class SubscriptionEntry(StrictShape):
    """Who is notified of which events."""

    channel: Annotated[Channel, Field(description="`message`, `email`, `webhook` or `slack`")]
    address: Annotated[
        Word,
        Field(
            description="Address of a service, an e-mail address, or a URL; for `webhook` and `slack` also `file:NAME` or "
            "`secret:NAME`, a secret that contains the URL"
        ),
    ]
    events: Annotated[
        tuple[Word, ...],
        Field(max_length=100, description="Names of events; default: all that are meant for the reader"),
    ] = ()
    least_severity: Annotated[Severity, Field(description="Only events of this severity or a higher one")] = (
        Severity.INFO
    )
    digest_minutes: Annotated[
        StrictInt,
        Field(ge=1, le=MAX_DIGEST_MINUTES, description="At most one notification of each event in this time"),
    ] = DIGEST_MINUTES

    @model_validator(mode="after")
    def check_complete(self) -> Self:
        unknown = [name for name in self.events if name not in EVENT_NAMES]
        if unknown:
            raise ValueError(
                f"the event {unknown[0]!r} does not exist; `postroad notifications events` lists all events"
            )
        if len(set(self.events)) != len(self.events):
            raise ValueError("an event is listed twice")
        if fault := find_address_error(self.channel, self.address):
            raise ValueError(fault)
        return self

    def subscription(self, organization: str, name: str) -> Subscription:
        """Return the directory's object for this entry."""
        return Subscription(
            organization=organization,
            name=name,
            channel=self.channel,
            address=self.address,
            events=self.events,
            least_severity=self.least_severity,
            digest_minutes=self.digest_minutes,
        )


def find_address_error(channel: Channel, address: str) -> str:
    """Return what is wrong with the form of an address; empty if nothing is."""
    match channel:
        case Channel.EMAIL:
            fits = re.match(EMAIL, address) is not None and len(address) <= MAX_EMAIL_CHARS and address.isprintable()
            return "" if fits and not set(address) & set('<>,;"') else "the address must be an e-mail address"
        case Channel.MESSAGE:
            return "" if "/" in address or len(address) == 16 else "the address must be a service: Organization/Service"
    if is_reference(address):
        return ""
    try:
        check_url(address)
    except ValueError as error:
        return f"the address {error}"
    return ""


def find_reader_error(subscription: Subscription, directory: Directory, *, by_operator: bool) -> str:
    """Return why the organization may not send to this address; empty if it may.

    A service must be the organization's own. An e-mail address must be a member's, or have the domain of a member's, so that the
    network sends no e-mail to strangers; operators may set any.
    """
    if not subscription.organization:
        is_missing = subscription.channel is Channel.MESSAGE and directory.service(subscription.address) is None
        return f"the service {subscription.address} does not exist" if is_missing else ""
    if subscription.channel is Channel.MESSAGE:
        service = directory.service(subscription.address)
        is_own = service is not None and is_same_organization(service.organization, subscription.organization)
        return "" if is_own else f"{subscription.address} is not a service of this organization"
    if subscription.channel is Channel.EMAIL and not by_operator:
        domain = subscription.address.rpartition("@")[2].casefold()
        people = directory.people_of(subscription.organization)
        if all(person.email.rpartition("@")[2].casefold() != domain for person in people):
            return (
                f"no member of this organization has an address at {domain}; use a member's address or domain, or ask the "
                "operators to add the subscription"
            )
    return ""


def subscription_entry(subscription: Subscription) -> dict[str, Any]:
    """Return a subscription as people write it, without defaults."""
    entry: dict[str, Any] = {"channel": subscription.channel.value, "address": subscription.address}
    if subscription.events:
        entry["events"] = list(subscription.events)
    if subscription.least_severity is not Severity.INFO:
        entry["leastSeverity"] = subscription.least_severity.value
    if subscription.digest_minutes != DIGEST_MINUTES:
        entry["digestMinutes"] = subscription.digest_minutes
    return entry
