"""Changes of provisionings: the provider confirms, either party revokes, services register cookies.

Rules: only the chosen provider can confirm, once, in time and with the token that its site received. A confirmation
with any error changes nothing. A wrong token and another provisioning's token are refused in the same way.
``provisioning`` begins provisionings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hmac import compare_digest

from postroad.core.configuration.entries.cookies import cookie_error
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.ids import GCID
from postroad.core.model.message import Cookie
from postroad.core.model.snapshot import Directory
from postroad.core.model.trust import RegisteredCookie, cookie_key, token_hash
from postroad.errors import Refused
from postroad.flow.administration.base import build_removal
from postroad.flow.plumbing import WaitUntilIndexed
from postroad.flow.registries.configuration import Configuration, DirectoryChange, build_save
from postroad.ports import Clock


async def _do_not_wait() -> None:
    """Do not wait; the default on a single node."""


class ProvisioningChanges:
    """Confirms and revokes provisionings; each change names the object versions it was decided on."""

    def __init__(
        self, configuration: Configuration, clock: Clock, wait_until_indexed: WaitUntilIndexed = _do_not_wait
    ) -> None:
        self._configuration = configuration
        self._clock = clock
        self._wait_until_indexed = wait_until_indexed

    async def confirm(
        self, provider: Service, gcid: str, token: str, cookie: Cookie | None = None, *, said_in: str = ""
    ) -> None:
        """Confirm that this service stands for an account of the provider's customer.

        ``said_in`` is the session of the confirming message. If it was carried out and then interrupted, it is
        redelivered, which is not treated as misuse.
        """
        if self._is_settled(gcid, said_in):
            return
        if not self._waits_for(provider, gcid, token):  # perhaps another node has just begun it
            await self._wait_until_indexed()
            await self._configuration.load()
        if not self._waits_for(provider, gcid, token):
            raise Refused(
                "provisioning.invalid",
                "No provisioning waits for this service and token; send both as your provisioning page received them, once",
            )
        directory, now_us = self._configuration.directory(), self._clock.now_us()
        found = directory.provisionings[gcid]
        if not found.may_be_confirmed(now_us):
            raise Refused(
                "provisioning.expired",
                "The provisioning was started more than 24 hours ago; ask your customer to start again",
            )
        confirmed = replace(found, token_hash="", confirmed_at_us=now_us, revoked_at_us=0, settled_in=said_in)
        changes = [_seen(directory, build_save(confirmed)), *_cookie_changes(directory, provider.gcid, gcid, cookie)]
        await self._configuration.change(provider.gcid, changes, "provisioning confirmed")

    def _is_settled(self, gcid: str, said_in: str) -> bool:
        found = self._configuration.directory().provisionings.get(gcid)
        return bool(said_in) and found is not None and found.settled_in == said_in

    def _waits_for(self, provider: Service, gcid: str, token: str) -> bool:
        """Whether this confirmation is pending, in time or not."""
        directory = self._configuration.directory()
        found, service = directory.provisionings.get(gcid), directory.services.get(gcid)
        return (
            found is not None
            and service is not None
            and found.provider == provider.gcid
            and not directory.is_suspended(service)
            and _may_still_begin(found.started_by, service, directory)
            and compare_digest(found.token_hash.encode(), token_hash(token).encode())
        )

    async def revoke(self, by: str, gcid: str, parties: Sequence[str], *, said_in: str = "") -> None:
        """Revoke the provisioning for one of these parties (GCIDs); permissions and cookie end at once."""
        if self._is_settled(gcid, said_in):
            return
        directory = self._configuration.directory()
        found = directory.provisionings.get(gcid)
        if found is None or not {found.provider, found.service} & set(parties) or found.revoked_at_us:
            raise Refused("provisioning.unknown", "This service has no provisioning that you can revoke")
        revoked = replace(found, token_hash="", revoked_at_us=self._clock.now_us(), settled_in=said_in)
        changes = [_seen(directory, build_save(revoked)), *_cookie_changes(directory, found.provider, gcid, None)]
        await self._configuration.change(by, changes, "provisioning revoked")

    async def register_cookie(self, by: str, service: Service, sender: str, cookie: Cookie | None) -> str:
        """Set the cookie that the service gets with each message from this sender; returns the sender's GCID.

        None removes the cookie.
        """
        directory = self._configuration.directory()
        known = _known(directory, service, sender)
        changes = _cookie_changes(directory, service.gcid, known, cookie)
        if changes:
            await self._configuration.change(by, changes, "cookie registered" if cookie else "cookie removed")
        return known


def _may_still_begin(email: str, service: Service, directory: Directory) -> bool:
    """Whether the person who began it may still act for the enterprise."""
    person = directory.person(email)
    return person is not None and Caller(person=person).has_role(service.organization, Role.DEVELOPER)


def _known(directory: Directory, service: Service, sender: str) -> str:
    """Return the sender's GCID; a GCID is returned unchecked, so that it does not show which exist."""
    if GCID.match(sender):
        return sender
    found = directory.service(sender)
    if found is None or not directory.visible(found, service.organization):
        raise Refused("not-found", f"Service {sender[:120]!r} does not exist, or you may not see it; use its GCID")
    return found.gcid


def _cookie_changes(directory: Directory, service: str, sender: str, cookie: Cookie | None) -> list[DirectoryChange]:
    before = directory.cookies.get(cookie_key(service, sender))
    if cookie is None:
        return [_seen(directory, build_removal(before))] if before is not None else []
    if fault := cookie_error(cookie.content, cookie.content_type):
        raise Refused("cookie.invalid", fault[0].upper() + fault[1:])
    registered = RegisteredCookie(
        service=service, sender=sender, content=cookie.content, content_type=cookie.content_type
    )
    return [_seen(directory, build_save(registered))] if registered != before else []


def _seen(directory: Directory, change: DirectoryChange) -> DirectoryChange:
    return replace(change, seen_version=directory.object_version(change.kind, change.key))
