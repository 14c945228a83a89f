"""Members of an organization: add, change roles and remove.

Rule: an organization with members always has an owner among them. To guarantee this across
nodes, a change that removes an owner also saves the organization, so that two such changes at the same time conflict.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.configuration.account_fields import check_email, check_line
from postroad.core.identity.expiry import INVITATION
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, Person, Role, is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.account_mails import mail_invitation
from postroad.flow.administration.accounts import INVITATION_US, has_password, is_invitation_expired, is_only_invited
from postroad.flow.administration.base import Administration, build_removal, not_found, require_organization
from postroad.flow.administration.confirmations import check_owner_only, get_unconfirmed_by
from postroad.flow.registries.configuration import DirectoryChange, build_save

MAX_MEMBERS = 1_000
MAX_INVITED = 100  # of them who have not set a password yet


async def add(administration: Administration, caller: Caller, organization: str, member: Person) -> str:
    """Add a member; returns the key with which they set their password.

    Also removes members whose invitation has expired, in any organization.
    """
    check_email(member.email)
    check_line(member.name, "/name")
    now_us = administration.network.clock.now_us()
    key, credential = administration.new_key(INVITATION, person=member.email, expires_at_us=now_us + INVITATION_US)

    def decide(directory: Directory) -> list[DirectoryChange]:
        org = require_organization(caller, directory, organization, Role.OWNER)
        gone = [one for one in directory.people_of(org.name) if is_invitation_expired(directory, one, now_us)]
        known = directory.person(member.email)
        if known is not None and not is_invitation_expired(directory, known, now_us):
            raise Refused("name.taken", "An account for this address exists; a person belongs to one organization",
                          pointer="/email")  # fmt: skip
        _check_number(directory, org.name, gone)
        ended = {one.email.casefold(): one for one in [*gone, *([known] if known is not None else [])]}
        keys = [item for one in ended.values() for item in directory.credentials_of(person=one.email)]
        left = [build_removal(one) for email, one in ended.items() if email != member.email.casefold()]
        waiting = get_unconfirmed_by(caller, directory, org.name)
        added = [build_save(replace(member, organization=org.name, unconfirmed=waiting)), build_save(credential)]
        return [*left, *map(build_removal, keys), *added]

    await administration.carry_out(caller.name, decide, "member added")
    mail_invitation(administration, caller, member.email, key)
    return key


async def invite_again(administration: Administration, caller: Caller, organization: str, email: str) -> str:
    """Create a new invitation for a member who has not set a password yet."""
    member = _member(caller, administration.directory, organization, email, Role.OWNER)
    until_us = administration.network.clock.now_us() + INVITATION_US
    key, credential = administration.new_key(INVITATION, person=member.email, expires_at_us=until_us)

    def decide(directory: Directory) -> list[DirectoryChange]:
        current = _member(caller, directory, organization, email, Role.OWNER)
        check_owner_only(caller, directory, current.organization)
        if has_password(directory, current):
            raise Refused("permission.denied", "This person already has a password; only they can change it")
        old = [item for item in directory.credentials_of(person=current.email) if item.label == INVITATION]
        return [build_save(credential), *(build_removal(item) for item in old)]

    await administration.carry_out(caller.name, decide, "member invited again")
    mail_invitation(administration, caller, member.email, key)
    return key


async def change_role(
    administration: Administration, caller: Caller, organization: str, email: str, role: Role, seen_version: int | None
) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        member = _member(caller, directory, organization, email, Role.OWNER)
        check_owner_only(caller, directory, member.organization)
        changes = [build_save(replace(member, role=role), seen_version)]
        return changes + _owner_leaves(directory, member) if role is not Role.OWNER else changes

    await administration.carry_out(caller.name, decide, "role changed")


async def remove(
    administration: Administration, caller: Caller, organization: str, email: str, seen_version: int | None
) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        member = _member(caller, directory, organization, email, Role.OWNER)
        if member.role is Role.OWNER and not member.unconfirmed:
            check_owner_only(caller, directory, member.organization)
        credentials = [build_removal(item) for item in directory.credentials_of(person=member.email)]
        return [build_removal(member, seen_version), *credentials, *_owner_leaves(directory, member)]

    await administration.carry_out(caller.name, decide, "member removed")


def _check_number(directory: Directory, organization: str, gone: list[Person]) -> None:
    people = [one for one in directory.people_of(organization) if one not in gone]
    if len(people) >= MAX_MEMBERS:
        raise Refused("value.invalid", f"An organization has at most {MAX_MEMBERS} members; remove one first")
    if sum(is_only_invited(directory, one) for one in people) >= MAX_INVITED:
        raise Refused("value.invalid", f"At most {MAX_INVITED} invitations may be open at a time; wait, or remove one")


def list_members(caller: Caller, directory: Directory, organization: str) -> list[Person]:
    org = require_organization(caller, directory, organization, Role.VIEWER)
    return sorted(directory.people_of(org.name), key=lambda person: person.email.casefold())


def find_member(caller: Caller, directory: Directory, organization: str, email: str) -> Person:
    return _member(caller, directory, organization, email, Role.VIEWER)


def _member(caller: Caller, directory: Directory, organization: str, email: str, least: Role) -> Person:
    org = require_organization(caller, directory, organization, least)
    person = directory.person(email)
    if person is None or not is_same_organization(person.organization, org.name):
        raise not_found()
    return person


def _owner_leaves(directory: Directory, leaving: Person) -> list[DirectoryChange]:
    if leaving.role is not Role.OWNER:
        return []
    others = [person for person in directory.people_of(leaving.organization) if person.email != leaving.email]
    if not leaving.unconfirmed and not any(one.role is Role.OWNER and not one.unconfirmed for one in others):
        raise Refused("configuration.conflict", "An organization needs an owner; make another member owner first")
    org: Organization | None = directory.organization(leaving.organization)
    return [build_save(org)] if org is not None else []
