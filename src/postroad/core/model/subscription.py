"""A subscription: who is notified of which events, and over which channel.

Subscriptions are configuration objects of an organization, or of the operators (organization ''). Rule: an address may be a
reference to a secret (``secret:NAME``, ``file:NAME``), so that no address with a secret in it has to be in the journal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

OPERATORS = ""  # the organization of the operators' subscriptions
MAX_SUBSCRIPTIONS = 50  # of one organization
DIGEST_MINUTES = 15
MAX_DIGEST_MINUTES = 7 * 24 * 60
REFERENCE = re.compile(r"(secret|file):[^\x00-\x1f\x7f]+\Z")


class Severity(StrEnum):
    """How urgent an event is, from least to most."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        return tuple(Severity).index(self)


class Channel(StrEnum):
    """How a notification reaches its reader."""

    MESSAGE = "message"  # a message of the network to a service
    EMAIL = "email"
    WEBHOOK = "webhook"  # a signed POST
    SLACK = "slack"  # a POST of {"text": …}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    organization: str  # empty: the operators
    name: str
    channel: Channel
    address: str  # of a service, an e-mail address, a URL, or a reference to a URL
    events: tuple[str, ...] = ()  # names of events; empty: all that are meant for its readers
    least_severity: Severity = Severity.INFO
    digest_minutes: int = DIGEST_MINUTES  # at most one notification of each event in this time

    @property
    def key(self) -> str:
        return subscription_key(self.organization, self.name)


def subscription_key(organization: str, name: str) -> str:
    """Return the key under which a subscription is saved."""
    return f"{organization.casefold()}/{name.casefold()}"


def is_reference(address: str) -> bool:
    """Whether the address names a secret that contains the URL."""
    return REFERENCE.match(address) is not None
