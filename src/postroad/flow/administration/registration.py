"""Registration policy: who may register an organization, and its initial limits.

Rule: limits are written into the organization when it is registered. Organizations that exist keep theirs, and operators change
them like any other (``postroad limits set``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, OrganizationLimits
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

AWAITING_APPROVAL = "awaiting approval by the network's operators"  # the reason of the suspension it begins with


class RegistrationMode(StrEnum):
    OPEN = "open"
    APPROVAL = "approval"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationPolicy:
    """The registration mode and initial limits; 0 means the network's default."""

    mode: RegistrationMode = RegistrationMode.OPEN
    posts_per_s: int = 0
    limits: OrganizationLimits = field(default_factory=OrganizationLimits)

    def organization(self, name: str) -> Organization:
        """Return the new organization with its initial limits; raises Refused if registration is closed."""
        if self.mode is RegistrationMode.CLOSED:
            raise Refused(
                "registration.closed",
                "Registration is closed in this network; ask its operators to create your organization",
            )
        suspended = AWAITING_APPROVAL if self.mode is RegistrationMode.APPROVAL else ""
        return Organization(name=name, suspended=suspended, posts_per_s=self.posts_per_s, limits=self.limits)


OPEN_REGISTRATION = RegistrationPolicy()


def check_approved(caller: Caller, directory: Directory) -> None:
    """Refuse changes and trials of an organization that no operator has approved yet."""
    organization = directory.organization(caller.organization) if caller.organization else None
    if organization is not None and organization.suspended == AWAITING_APPROVAL:
        raise Refused(
            "registration.pending",
            "An operator of the network must approve your organization first; until then you can only read, and change "
            "your own account",
        )
