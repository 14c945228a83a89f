"""Owner confirmation of credentials and members that operators add for an organization.

A service's key and a member can read messages; operators cannot. So service credentials and members that operators
add for an organization wait for confirmation: they are saved with the operator's name, cannot authenticate, and an
owner of the organization confirms or removes them. An organization without an owner who can log in is still being set
up, and operators act for it without confirmation.

Rule: an owner is a confirmed person with the role owner and a password or a key; an invitation is not enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from postroad.core.configuration.change_plan import ObjectStep
from postroad.core.configuration.document import DocumentError, pointer
from postroad.core.identity.expiry import INVITATION
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, Person, Role, is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.base import Administration, not_found, permission_denied, require_organization
from postroad.flow.registries.configuration import DirectoryChange, build_save


class PendingConfirmation(NamedTuple):
    """A credential or member that awaits an owner's confirmation."""

    id: str  # of the credential, or the member's e-mail address
    kind: str  # key, password, certificate or member
    name: str  # as people know it
    made_by: str  # the operator


def has_owner(directory: Directory, organization: str) -> bool:
    """Whether the organization has an owner who can log in."""
    owners = [one for one in directory.people_of(organization) if one.role is Role.OWNER and not one.unconfirmed]
    return any(item.label != INVITATION for owner in owners for item in directory.credentials_of(person=owner.email))


def is_acting_for_others(caller: Caller, directory: Directory, organization: str) -> bool:
    """Whether an operator acts for an organization that has an owner, without being one."""
    return caller.operator and not is_owner(caller, organization) and has_owner(directory, organization)


def is_owner(caller: Caller, organization: str) -> bool:
    person = caller.person
    if person is None or caller.invited or person.role is not Role.OWNER or person.unconfirmed:
        return False
    return is_same_organization(person.organization, organization)


def get_unconfirmed_by(caller: Caller, directory: Directory, organization: str) -> str:
    """Return the value of ``unconfirmed``: the operator's name, or '' if no confirmation is needed."""
    return caller.name if is_acting_for_others(caller, directory, organization) else ""


def check_owner_only(caller: Caller, directory: Directory, organization: str) -> None:
    """Refuse operators an action that only the organization's owners may take."""
    if is_acting_for_others(caller, directory, organization):
        raise permission_denied(f"{organization} has an owner; only its owners may do this")


def list_pending(caller: Caller, directory: Directory, organization: str) -> list[PendingConfirmation]:
    """Return what awaits an owner's confirmation, for members and operators."""
    org = require_organization(caller, directory, organization, Role.VIEWER)
    members = [one for one in directory.people_of(org.name) if one.unconfirmed]
    found = [
        PendingConfirmation(one.email, "member", f"{one.email}, {one.role.value}", one.unconfirmed) for one in members
    ]
    for service in directory.services_of(org.name):
        owned = [one for one in directory.credentials_of(service=service.gcid) if one.unconfirmed]
        found += [
            PendingConfirmation(one.id, one.kind.value, f"{one.label} of {service.address}", one.unconfirmed)
            for one in owned
        ]
    return sorted(found)


async def confirm(administration: Administration, caller: Caller, organization: str, pending_id: str) -> None:
    """Confirm a credential or member; for owners of the organization only."""

    def decide(directory: Directory) -> list[DirectoryChange]:
        org = require_organization(caller, directory, organization, Role.VIEWER)
        if not is_owner(caller, org.name):
            raise permission_denied(f"Only an owner of {org.name} may confirm this")
        return [build_save(replace(_found(directory, org.name, pending_id), unconfirmed=""))]

    await administration.carry_out(caller.name, decide, "confirmed")


def _found(directory: Directory, organization: str, pending_id: str) -> Credential | Person:
    credential = directory.credentials.get(pending_id)
    service = directory.services.get(credential.service) if credential is not None else None
    if credential is not None and service is not None and credential.unconfirmed:
        if is_same_organization(service.organization, organization):
            return credential
        raise not_found()
    person = directory.person(pending_id)
    if person is None or not person.unconfirmed or not is_same_organization(person.organization, organization):
        raise not_found()
    return person


def find_owner_errors(caller: Caller, directory: Directory, steps: Iterable[ObjectStep]) -> Iterator[DocumentError]:
    """Yield errors for planned changes by an operator that only the organization's owners may make."""
    for step in steps if caller.operator else ():
        before = directory.object(step.kind, step.key)
        owner = _organization_of(step.kind, step.value or before, directory)
        if owner and _is_for_owners(before, step.value) and is_acting_for_others(caller, directory, owner):
            yield DocumentError(
                pointer("organizations", owner),
                f"{step.kind} {step.name}: {owner} has an owner; only an owner may apply this, or you add it through the "
                "API and an owner confirms it",
            )


def _organization_of(kind: str, item: Any, directory: Directory) -> str:
    """Return the organization of a person or service credential; '' for other objects."""
    if kind == "person":
        return str(item.organization)
    service = directory.services.get(item.service) if kind == "credential" and item.service else None
    return service.organization if service is not None else ""


def _is_for_owners(before: Any, after: Any) -> bool:
    """Whether the change lets someone read more (person, role or secret), or removes an owner."""
    if after is None:
        return isinstance(before, Person) and before.role is Role.OWNER and not before.unconfirmed
    if isinstance(after, Person):
        return not isinstance(before, Person) or before.role is not after.role
    return before is None or before.secret != after.secret or before.unconfirmed != after.unconfirmed
