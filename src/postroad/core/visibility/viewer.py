"""The viewer of messages: a service, the members of an organization, or the network, which sees everything.

Rule: the modules of this package decide what a viewer sees of others; each asks a ``Viewer`` what belongs to the viewer
and what is hidden from it.
"""

from __future__ import annotations

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person, is_same_organization
from postroad.core.model.snapshot import Directory


class Viewer:
    """A viewer by organization and service: with both, a service that knows what its organization knows.

    With neither, the network.
    """

    def __init__(self, directory: Directory, organization: str | None = None, service: str = "") -> None:
        self.directory = directory
        self._organization = organization.casefold() if organization is not None else None
        self._service = service

    @classmethod
    def of_party(cls, caller: Caller, directory: Directory) -> Viewer:
        """Return the caller as a party to messages: the service alone, or the members of the person's organization."""
        if caller.service is not None:
            return cls(directory, service=caller.service.gcid)
        return cls(directory, caller.organization)

    @classmethod
    def of_caller(cls, caller: Caller, directory: Directory) -> Viewer:
        """Return the caller as a party, or the network for an operator."""
        return cls(directory) if caller.operator else cls.of_party(caller, directory)

    @property
    def is_network(self) -> bool:
        return self._organization is None and not self._service

    def owns(self, gcid: str) -> bool:
        """Whether the service belongs to the viewer; everything belongs to the network."""
        if self._organization is None:
            return not self._service or gcid == self._service
        return bool(self._organization) and self.directory.owner_of(gcid) == self._organization

    def is_self(self, gcid: str) -> bool:
        """Whether this is the service that asks; for a person, a service of their organization."""
        return gcid == self._service if self._service else self.owns(gcid)

    def is_hidden(self, gcid: str, isolated_by: str) -> bool:
        """Whether another party isolates the service from the viewer; ``isolated_by`` is empty if no party does."""
        return bool(isolated_by) and not self.owns(isolated_by) and not self.owns(gcid)

    def knows(self, person: Person) -> bool:
        """Whether the person is a member of the viewer's organization."""
        return self._organization is None or is_same_organization(person.organization, self._organization)

    def address_of(self, gcid: str) -> str:
        return self.directory.address_of(gcid)
