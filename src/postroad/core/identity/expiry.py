"""Expiry warnings: 30, 14, 7 and 1 days before something expires, and when it has expired.

Rule: there is no warning for things that expire by design (a login, a browser session, an invitation).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from postroad.core.model.directory import Credential
from postroad.core.model.snapshot import Directory

DAY_US = 24 * 3_600 * 1_000_000
WARN_DAYS = (30, 14, 7, 1)
EXPIRED = 0

# Labels of keys that the network makes for people, and that end by themselves.
LOGIN = "login"
INVITATION = "invitation"
LINK = "login link"  # logs its bearer in once
BROWSER = "login (browser)"  # the key in a console cookie; the API refuses it
RESET = "new password"  # lets its bearer set a password once
SELF_EXPIRING = (LOGIN, INVITATION, LINK, BROWSER, RESET)


class Expiring(NamedTuple):
    """Something that ends at a time, named as people know it."""

    what: str
    expires_at_us: int
    organization: str = ""  # of its owner; empty: the operators
    is_credential: bool = False


def days_left(expires_at_us: int, now_us: int) -> int | None:
    """Return whole days until expiry, 0 if expired, None if it never expires."""
    return max(0, (expires_at_us - now_us) // DAY_US) if expires_at_us else None


def due_warning(expires_at_us: int, now_us: int) -> int | None:
    """Return the latest warning that is due, in days before expiry; None if none is due."""
    if not expires_at_us:
        return None
    if expires_at_us <= now_us:
        return EXPIRED
    return min((days for days in WARN_DAYS if expires_at_us - now_us <= days * DAY_US), default=None)


def warning(expires_at_us: int, now_us: int) -> str:
    """Return what to do about it, in words; empty if nothing is due."""
    match due_warning(expires_at_us, now_us):
        case None:
            return ""
        case 0:
            return "It has expired and is no longer accepted; replace it"
    return f"It expires {in_days(expires_at_us, now_us)}; add its successor now and remove this one later"


def credential_warning(credential: Credential, now_us: int) -> str:
    return "" if _passes_by_itself(credential) else warning(credential.expires_at_us, now_us)


def expiring_credentials(directory: Directory) -> Iterator[Expiring]:
    """Certificates and keys of services and people that have an end."""
    for credential in directory.credentials.values():
        if credential.expires_at_us and not _passes_by_itself(credential):
            owner = directory.address_of(credential.service) or credential.person
            what = f"{credential.kind.value} {(credential.label or credential.id)!r} of {owner}"
            yield Expiring(what, credential.expires_at_us, _organization(credential, directory), is_credential=True)


def _organization(credential: Credential, directory: Directory) -> str:
    """Return the organization of a credential's owner; empty for operators."""
    service, person = directory.services.get(credential.service), directory.person(credential.person)
    return service.organization if service is not None else person.organization if person is not None else ""


class Warnings:
    """Remembers which warnings were given, so that each is given once."""

    def __init__(self) -> None:
        self._given: dict[Expiring, int] = {}

    def list_due(self, things: Iterable[Expiring], now_us: int) -> list[str]:
        """The lines that have become due since the last time."""
        lines, given = [], {}
        for thing in things:
            days = due_warning(thing.expires_at_us, now_us)
            if days is None:
                continue
            given[thing] = days
            if self._given.get(thing, WARN_DAYS[0] + 1) > days:
                lines.append(expiry_text(thing, now_us))
        self._given = given  # what is gone, or was replaced, is forgotten
        return lines


def expiry_text(thing: Expiring, now_us: int) -> str:
    if thing.expires_at_us <= now_us:
        return f"{thing.what} has expired; replace it"
    return f"{thing.what} expires {in_days(thing.expires_at_us, now_us)}; replace it before"


def in_days(expires_at_us: int, now_us: int) -> str:
    """Return when something expires, in words."""
    days = days_left(expires_at_us, now_us) or 0
    return f"in {days} days" if days > 1 else "in 1 day" if days == 1 else "in less than a day"


def _passes_by_itself(credential: Credential) -> bool:
    return bool(credential.person) and credential.label in SELF_EXPIRING
