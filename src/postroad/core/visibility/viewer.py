"""The viewer of messages: an organization or one of its services, and what belongs to it.

Rule: the modules of this package decide what a viewer sees of others; each asks a ``Viewer`` what belongs to the
viewer.
"""

from __future__ import annotations

from postroad.core.model.directory import Person
from postroad.core.model.snapshot import Directory


class Viewer:
    """An organization, or one of its services. Without an organization, the network itself, which sees everything."""

    def __init__(self, directory: Directory, organization: str | None, service: str = "") -> None:
        self.directory = directory
        self._organization = organization.casefold() if organization is not None else None
        self._service = service

    @property
    def is_network(self) -> bool:
        return self._organization is None

    def owns(self, gcid: str) -> bool:
        """Whether the service belongs to the viewer's organization; everything belongs to the network."""
        return self._organization is None or self.directory.owner_of(gcid) == self._organization

    def is_self(self, gcid: str) -> bool:
        """Whether this is the service that asks; for a person, a service of their organization."""
        return gcid == self._service if self._service else self.directory.owner_of(gcid) == self._organization

    def knows(self, person: Person) -> bool:
        """Whether the person is a member of the viewer's organization."""
        return self._organization is None or person.organization.casefold() == self._organization

    def address_of(self, gcid: str) -> str:
        return self.directory.address_of(gcid)
