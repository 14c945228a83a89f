"""Accounts: registering, logging in and out, passwords and the keys of people.

Kept rules: a login is a key that ends by itself; a new password ends every login but the one that set it; keys are only ever
their owner's business.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.configuration.passwords import check_password
from postroad.core.identity.expiry import INVITATION, LINK, LOGIN
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Organization, Person, Role
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import Administration, denied, not_found, removing
from postroad.flow.configure import Change, saving

LINK_US = 15 * 60 * 1_000_000
LOGIN_US = 12 * 3_600 * 1_000_000
INVITATION_US = 7 * 24 * 3_600 * 1_000_000
KEYS_MOST = 50


def person_of(caller: Caller) -> Person:
    if caller.person is None:
        raise denied("This is a person's account; use a person's key or password, not a service's")
    return caller.person


async def register(administration: Administration, organization: str, email: str, name: str, password: str) -> Person:
    """A new organization with its first owner."""
    check_name(organization, "The organization's")
    check_password(password, email, email.partition("@")[0], organization, name)
    owner = Person(email=email, name=name, organization=organization, role=Role.OWNER)
    _check_free(administration.directory, organization, email)  # before the slow hash
    credential = await administration.new_password(password, "password", person=email)

    def decide(directory: Directory) -> list[Change]:
        _check_free(directory, organization, email)
        return [saving(Organization(name=organization)), saving(owner), saving(credential)]

    await administration.carry_out(email, decide, "registration")
    return owner


def _check_free(directory: Directory, organization: str, email: str) -> None:
    if directory.organization(organization) is not None:
        raise Refused("name.taken", "An organization of this name exists; choose another, or ask its owner to add you",
                      pointer="/organization")  # fmt: skip
    if directory.person(email) is not None:
        raise Refused("name.taken", "There is an account for this address; log in with it, or use another",
                      pointer="/email")  # fmt: skip


async def log_in(administration: Administration, person: Person) -> tuple[str, Credential]:
    """A key that ends after twelve hours; logins that have ended are cleared away with it."""
    now_us = administration.network.clock.now_us()
    key, credential = administration.new_key(LOGIN, person=person.email, expires_at_us=now_us + LOGIN_US)

    def decide(directory: Directory) -> list[Change]:
        keys = [item for item in directory.credentials_of(person=person.email) if item.label == LOGIN]
        ended = [item for item in keys if item.expires_at_us and item.expires_at_us <= now_us]
        oldest = sorted((item for item in keys if item not in ended), key=lambda item: item.created_at_us)
        surplus = oldest[: max(0, len(oldest) - KEYS_MOST + 1)]
        return [saving(credential), *(removing(item) for item in (*ended, *surplus))]

    await administration.carry_out(person.email, decide, "login")
    return key, credential


async def make_link(administration: Administration, person: Person) -> str:
    """A key for a link that logs its bearer in once, in a browser on this machine perhaps; it ends soon by itself."""
    until_us = administration.network.clock.now_us() + LINK_US
    key, credential = administration.new_key(LINK, person=person.email, expires_at_us=until_us)
    await administration.carry_out(person.email, lambda directory: [saving(credential)], "login link made")
    return key


async def revoke(administration: Administration, person: Person, key_id: str, reason: str) -> None:
    """End one of the person's own keys."""

    def decide(directory: Directory) -> list[Change]:
        owned = [item for item in directory.credentials_of(person=person.email) if item.kind is CredentialKind.KEY]
        found = [item for item in owned if item.id == key_id]
        if not found:
            raise not_found()
        return [removing(found[0])]

    await administration.carry_out(person.email, decide, reason)


async def rename(administration: Administration, person: Person, name: str, seen_version: int | None) -> None:
    def decide(directory: Directory) -> list[Change]:
        current = directory.person(person.email)
        if current is None:
            raise not_found()
        return [saving(replace(current, name=name), seen_version)]

    await administration.carry_out(person.email, decide, "account changed")


async def set_password(administration: Administration, person: Person, password: str, current_key: str) -> None:
    """Replace the password; every login and invitation but ``current_key`` ends."""
    check_password(password, person.email, person.email.partition("@")[0], person.organization, person.name)
    credential = await administration.new_password(password, "password", person=person.email)

    def decide(directory: Directory) -> list[Change]:
        ended = [
            item for item in directory.credentials_of(person=person.email) if _ends_with_password(item, current_key)
        ]
        return [saving(credential), *(removing(item) for item in ended)]

    await administration.carry_out(person.email, decide, "password changed")


def _ends_with_password(item: Credential, current_key: str) -> bool:
    return item.kind is CredentialKind.PASSWORD or (item.label in (LOGIN, INVITATION) and item.id != current_key)


def has_password(directory: Directory, person: Person) -> bool:
    return any(item.kind is CredentialKind.PASSWORD for item in directory.credentials_of(person=person.email))


async def make_key(
    administration: Administration, person: Person, label: str, expires_at_us: int
) -> tuple[str, Credential]:
    """A personal key that the person names and keeps."""
    if label.casefold() in (LOGIN, INVITATION, LINK):
        raise Refused("name.taken", f"The label {label!r} is the network's own; choose another", pointer="/label")
    key, credential = administration.new_key(label, person=person.email, expires_at_us=expires_at_us)

    def decide(directory: Directory) -> list[Change]:
        if len(directory.credentials_of(person=person.email)) >= 2 * KEYS_MOST:
            raise Refused("value.invalid", f"An account has at most {2 * KEYS_MOST} keys; revoke one first")
        return [saving(credential)]

    await administration.carry_out(person.email, decide, "key made")
    return key, credential
