"""The authenticated caller of a request: a service or a person, and how it authenticated.

Every query takes a Caller, so that it cannot be made without one.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.directory import AuthenticationLevel, Person, Role, Service, is_same_organization

STRENGTH = {AuthenticationLevel.PASSWORD: 0, AuthenticationLevel.KEY: 1, AuthenticationLevel.CERTIFICATE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Exactly one of ``service`` and ``person`` is set."""

    service: Service | None = None
    person: Person | None = None
    level: AuthenticationLevel = AuthenticationLevel.PASSWORD
    secure: bool = False  # over TLS, or through a trusted proxy that received it over TLS
    invited: bool = False  # with an invitation, which others have seen: may only set a password

    @classmethod
    def inside(cls, service: Service) -> Caller:
        """Return the caller for a service that runs inside the network; it meets every security policy."""
        return cls(service=service, level=AuthenticationLevel.CERTIFICATE, secure=True)

    @property
    def name(self) -> str:
        """Return the name of the caller as the journal records it."""
        if self.service is not None:
            return self.service.gcid
        return self.person.email if self.person is not None else ""

    @property
    def organization(self) -> str:
        if self.service is not None:
            return self.service.organization
        return self.person.organization if self.person is not None else ""

    @property
    def operator(self) -> bool:
        return self.person is not None and self.person.operator

    def can_view(self, organization: str) -> bool:
        """Whether the caller belongs to the organization, or is an operator."""
        return self.operator or is_same_organization(self.organization, organization)

    def has_role(self, organization: str, least: Role) -> bool:
        """Whether this person may act for the organization with at least that role; operators may for all."""
        if self.operator:
            return True
        if self.person is None or self.invited or not is_same_organization(self.organization, organization):
            return False
        order = [Role.OWNER, Role.DEVELOPER, Role.VIEWER]
        return order.index(self.person.role) <= order.index(least)
