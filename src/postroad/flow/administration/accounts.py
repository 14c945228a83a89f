"""Accounts: registration, login, passwords and personal keys.

Rules: a login is a key that expires. A new password ends all logins except the one that set it, and all links. A link
works once, even if two people open it at the same moment. Only the owner of a key can use or see it; keys of removed
persons do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from postroad.core.configuration.account_fields import check_email, check_label, check_line
from postroad.core.configuration.passwords import check_password
from postroad.core.identity import api_key
from postroad.core.identity.expiry import BROWSER, INVITATION, LINK, LOGIN, RESET, SELF_EXPIRING
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Person, Role
from postroad.core.model.party_name import check_party_name, lookalike
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import Administration, build_removal, not_found, permission_denied
from postroad.flow.registries.configuration import DirectoryChange, build_save

LINK_US = 15 * 60 * 1_000_000
LOGIN_US = 12 * 3_600 * 1_000_000
INVITATION_US = 7 * 24 * 3_600 * 1_000_000
MAX_KEYS = 50
MAX_LINKS = 5  # unopened links of one person


def require_person(caller: Caller) -> Person:
    if caller.person is None:
        raise permission_denied("This is a person's account; use a person's key or password, not a service's")
    return caller.person


def find_registration_errors(organization: str, email: str, name: str, password: str) -> dict[str, str]:
    """Return what is wrong with each field of a registration, by the field's name; empty if nothing is."""
    known = (email, email.partition("@")[0], organization, name)
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("organization", lambda: check_party_name(organization, "The organization's")),
        ("email", lambda: check_email(email)),
        ("name", lambda: check_line(name, "/name")),
        ("password", lambda: check_password(password, *known)),
    )
    faults: dict[str, str] = {}
    for field, check in checks:
        try:
            check()
        except Refused as refusal:
            faults[field] = refusal.detail
    return faults


async def register(administration: Administration, organization: str, email: str, name: str, password: str) -> Person:
    """Create an organization with its first owner."""
    org = administration.registration.organization(organization)
    check_party_name(organization, "The organization's")
    check_email(email)
    check_line(name, "/name")
    check_password(password, email, email.partition("@")[0], organization, name)
    owner = Person(email=email, name=name, organization=organization, role=Role.OWNER)
    _check_free(administration.directory, organization, email)  # before the slow hash
    credential = await administration.new_password(password, "password", person=email)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_free(directory, organization, email)
        replaced = [build_removal(item) for item in directory.credentials_of(person=email)]
        return [*replaced, build_save(org), build_save(owner), build_save(credential)]

    await administration.carry_out(email, decide, "registration")
    return owner


def _check_free(directory: Directory, organization: str, email: str) -> None:
    if directory.organization(organization) is not None:
        raise Refused("name.taken", "An organization with this name exists; choose another, or ask its owner to add you",
                      pointer="/organization")  # fmt: skip
    shown = lookalike(organization)
    if any(lookalike(other.name) == shown for other in directory.organizations.values()):
        raise Refused("name.taken", "An organization has a name that looks like this one; choose another",
                      pointer="/organization")  # fmt: skip
    known = directory.person(email)
    if known is not None and not is_only_invited(directory, known):
        raise Refused("name.taken", "An account for this address exists; log in with it, or use another address",
                      pointer="/email")  # fmt: skip


def is_only_invited(directory: Directory, person: Person) -> bool:
    """Whether the person was invited and has not set a password yet.

    Such an address may be registered by anyone, except that an organization keeps its only owner.
    """
    used = [item for item in directory.credentials_of(person=person.email) if item.label != INVITATION]
    if used or person.operator:
        return False
    if person.role is not Role.OWNER:
        return True
    others = [one for one in directory.people_of(person.organization) if one.email != person.email]
    return any(one.role is Role.OWNER and not one.unconfirmed for one in others)


def is_invitation_expired(directory: Directory, person: Person, now_us: int) -> bool:
    """Whether the person was only invited and the invitation has expired; the account ends with it."""
    invitations = [one for one in directory.credentials_of(person=person.email) if one.label == INVITATION]
    is_over = bool(invitations) and all(0 < one.expires_at_us <= now_us for one in invitations)
    return is_over and is_only_invited(directory, person)


async def log_in(
    administration: Administration, person: Person, link: str = "", *, label: str = LOGIN
) -> tuple[str, Credential]:
    """Create a login key that expires after twelve hours, and delete expired ones.

    The API makes keys with the label ``LOGIN``; the console makes keys with the label ``BROWSER``, which the API
    refuses.

    ``link`` is the id of the link that is used to log in. It is consumed in the same step; if it was consumed before,
    the login fails.
    """
    now_us = administration.network.clock.now_us()
    key, credential = administration.new_key(label, person=person.email, expires_at_us=now_us + LOGIN_US)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_present(directory, person)
        if link and link not in directory.credentials:
            raise not_found()
        gone = {item.id: item for item in find_out_of_use(directory, person, label, MAX_KEYS, now_us)}
        if link:
            gone[link] = directory.credentials[link]
        return [build_save(credential), *(build_removal(item) for item in gone.values())]

    await administration.carry_out(person.email, decide, "login by link" if link else "login")
    return key, credential


async def make_link(administration: Administration, person: Person) -> str:
    """Create a key for a link that logs the person in once and expires soon."""
    now_us = administration.network.clock.now_us()
    key, credential = administration.new_key(LINK, person=person.email, expires_at_us=now_us + LINK_US)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_present(directory, person)
        gone = find_out_of_use(directory, person, LINK, MAX_LINKS, now_us)
        return [build_save(credential), *(build_removal(item) for item in gone)]

    await administration.carry_out(person.email, decide, "login link made")
    return key


def find_out_of_use(directory: Directory, person: Person, label: str, most: int, now_us: int) -> list[Credential]:
    """Return the person's expired network keys, and the oldest with this label beyond the limit."""
    owned = [item for item in directory.credentials_of(person=person.email) if item.label in SELF_EXPIRING]
    ended = [item for item in owned if 0 < item.expires_at_us <= now_us]
    others = [item for item in owned if item.label == label and item not in ended]
    oldest = sorted(others, key=lambda item: item.created_at_us)
    return ended + oldest[: max(0, len(oldest) - most + 1)]


def find_link_bearer(directory: Directory, key: str, label: str, now_us: int) -> Person | None:
    """Return the person whose link this is, while it is valid and of that kind."""
    credential = directory.credentials.get(api_key.key_id(key) or "")
    if credential is None or credential.label != label or now_us >= credential.expires_at_us:
        return None
    person = directory.person(credential.person) if api_key.holds(key, credential.secret) else None
    return person if person is not None and not person.unconfirmed else None


def _check_present(directory: Directory, person: Person) -> None:
    """Refuse keys for removed persons, since a later account with the same address would get them."""
    if directory.person(person.email) is None:
        raise not_found()


async def revoke(administration: Administration, person: Person, key_id: str, reason: str) -> None:
    """Revoke one of the person's own keys."""

    def decide(directory: Directory) -> list[DirectoryChange]:
        owned = [item for item in directory.credentials_of(person=person.email) if item.kind is CredentialKind.KEY]
        found = [item for item in owned if item.id == key_id]
        if not found:
            raise not_found()
        return [build_removal(found[0])]

    await administration.carry_out(person.email, decide, reason)


async def rename(administration: Administration, person: Person, name: str, seen_version: int | None) -> None:
    check_line(name, "/name")

    def decide(directory: Directory) -> list[DirectoryChange]:
        current = directory.person(person.email)
        if current is None:
            raise not_found()
        return [build_save(replace(current, name=name), seen_version)]

    await administration.carry_out(person.email, decide, "account changed")


async def set_password(
    administration: Administration, person: Person, password: str, current_key: str, invitation: str = ""
) -> None:
    """Replace the password; ends all invitations, links and logins except ``current_key``.

    ``invitation`` is the id of the invitation that permits this; it may have been used in the meantime.
    """
    check_password(password, person.email, person.email.partition("@")[0], person.organization, person.name)
    credential = await administration.new_password(password, "password", person=person.email)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_present(directory, person)
        if invitation and invitation not in directory.credentials:
            raise not_found()
        ended = [
            item for item in directory.credentials_of(person=person.email) if _ends_with_password(item, current_key)
        ]
        return [build_save(credential), *(build_removal(item) for item in ended)]

    await administration.carry_out(person.email, decide, "password changed")


def _ends_with_password(item: Credential, current_key: str) -> bool:
    if item.kind is CredentialKind.PASSWORD or item.label in (INVITATION, LINK, RESET):
        return True
    return item.label in (LOGIN, BROWSER) and item.id != current_key


def has_password(directory: Directory, person: Person) -> bool:
    return any(item.kind is CredentialKind.PASSWORD for item in directory.credentials_of(person=person.email))


async def make_key(
    administration: Administration, person: Person, label: str, expires_at_us: int
) -> tuple[str, Credential]:
    """Create a personal key with a label."""
    if check_label(label).casefold() in SELF_EXPIRING:
        raise Refused("name.taken", f"The label {label!r} is reserved; choose another", pointer="/label")
    key, credential = administration.new_key(label, person=person.email, expires_at_us=expires_at_us)

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_present(directory, person)
        keys = [item for item in directory.credentials_of(person=person.email) if item.kind is CredentialKind.KEY]
        named = [item for item in keys if item.label not in SELF_EXPIRING]
        if len(named) >= 2 * MAX_KEYS:
            raise Refused("value.invalid", f"An account has at most {2 * MAX_KEYS} keys; revoke one first")
        return [build_save(credential)]

    await administration.carry_out(person.email, decide, "key made")
    return key, credential
