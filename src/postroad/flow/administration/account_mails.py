"""E-mails about accounts: invitations, and links for a new password.

Rules: who asks for a new password learns nothing about the account: the answer and its time are the same, because everything
happens afterwards. E-mails to one address, and those that one address or organization causes, are limited.
"""

from __future__ import annotations

from postroad.core.identity import api_key
from postroad.core.identity.expiry import RESET
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.journal import BY_NETWORK
from postroad.core.model.snapshot import Directory
from postroad.core.notifications.account_mails import write_invitation, write_password_reset
from postroad.errors import Refused
from postroad.flow.administration import accounts
from postroad.flow.administration.base import Administration, build_removal
from postroad.flow.registries.configuration import DirectoryChange, build_save

RESET_US = 3_600 * 1_000_000
MAX_RESETS = 3  # unused links of one person
NO_MAIL = "This network sends no e-mail; ask an owner of your organization, or the network's operators"
LINK_OVER = "The link has been used or has expired; ask for another one"


def mail_invitation(administration: Administration, caller: Caller, email: str, key: str) -> None:
    """Send the invitation by e-mail, if a mail server is set and the member is not waiting for a confirmation."""
    mail, person = administration.network.mail, administration.directory.person(email)
    if not mail.is_available or person is None or person.unconfirmed:
        return
    limits = administration.mail_limits
    if limits.to_address.count(person.email.casefold()) or limits.of_organization.count(person.organization.casefold()):
        return
    inviter = caller.name if caller.person is not None else person.organization
    mail.send(write_invitation(person, inviter, key, api_key.key_id(key) or "", mail.url))


def request_password_reset(administration: Administration, email: str, peer: str) -> None:
    """Send a link for a new password to the address if it has an account with a password; returns at once in any case.

    Raises Refused if this network sends no e-mail, or if there were too many requests from the peer.
    """
    mail = administration.network.mail
    if not mail.is_available:
        raise Refused("mail.unavailable", NO_MAIL)
    if wait_s := administration.mail_limits.from_peer.count(peer):
        administration.network.metrics.counter("rate_limited_total", "mail").value += 1
        raise Refused("rate.exceeded", "Too many requests from your address; wait", retry_after_s=int(wait_s))
    mail.run(_mail_reset(administration, email))


async def _mail_reset(administration: Administration, email: str) -> None:
    person = administration.directory.person(email)
    if person is None or person.unconfirmed or not accounts.has_password(administration.directory, person):
        return
    if administration.mail_limits.to_address.count(person.email.casefold()):
        return
    now_us = administration.network.clock.now_us()
    key, credential = administration.new_key(RESET, person=person.email, expires_at_us=now_us + RESET_US)

    def decide(directory: Directory) -> list[DirectoryChange]:
        current = directory.person(person.email)
        if current is None:
            return []
        gone = accounts.find_out_of_use(directory, current, RESET, MAX_RESETS, now_us)
        return [build_save(credential), *map(build_removal, gone)]

    await administration.carry_out(BY_NETWORK, decide, "link for a new password made")
    mail = administration.network.mail
    mail.send(write_password_reset(person, key, credential.id, mail.url))


async def reset_password(administration: Administration, key: str, password: str) -> Person:
    """Set the password of the link's bearer, which ends the link and all logins; raises Refused if the link is over."""
    person = find_reset_bearer(administration, key)
    if person is None:
        raise Refused("link.expired", LINK_OVER)
    try:
        await accounts.set_password(administration, person, password, "", api_key.key_id(key) or "")
    except Refused as refusal:
        if refusal.code not in ("not-found", "version.conflict"):
            raise
        raise Refused("link.expired", LINK_OVER) from None
    return person


def find_reset_bearer(administration: Administration, key: str) -> Person | None:
    """Return the person whose link for a new password this is, while it is valid."""
    now_us = administration.network.clock.now_us()
    return accounts.find_link_bearer(administration.directory, key, RESET, now_us)
