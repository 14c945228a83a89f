"""Permissions to send; a private service is reported to outsiders as not existing.

Rule: for an outsider, a private service and a missing one give exactly the same answer.
"""

from __future__ import annotations

from postroad.core.model.directory import Accepts, Service, Visibility, is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

MAX_CACHED_PERMISSIONS = 100_000


def unknown_recipient(named: str) -> Refused:
    return Refused(
        "recipient.unknown",
        f"Service {named[:120]!r} does not exist or does not accept your messages; check the name in the directory, or ask its "
        "owner to list you as a sender",
    )


def find_permitted_recipient(sender: Service, named: str, directory: Directory) -> Service:
    """Return the service named ``named`` if ``sender`` may send to it; cached in the directory snapshot."""
    key = ("permitted recipient", sender.gcid, named)
    recipient: Service | None = directory.cache.get(key)
    if recipient is None:
        recipient = _find_permitted_recipient(sender, named, directory)
        if len(directory.cache) < MAX_CACHED_PERMISSIONS:
            directory.cache[key] = recipient
    return recipient


def _find_permitted_recipient(sender: Service, named: str, directory: Directory) -> Service:
    recipient = directory.service(named)
    if recipient is None:
        raise unknown_recipient(named)
    same_organization = is_same_organization(recipient.organization, sender.organization)
    listed = recipient.accepts is Accepts.LISTED and _is_listed(sender, recipient)
    if not same_organization and not listed and not directory.trusts(recipient, sender):
        if recipient.visibility is Visibility.PRIVATE:
            raise unknown_recipient(named)
        if recipient.accepts is not Accepts.ANYONE:
            raise Refused(
                "recipient.not-allowed",
                f"{recipient.address} does not accept messages from {sender.address}; {_what_to_do(recipient)}",
            )
    if directory.is_suspended(recipient):
        raise Refused(
            "recipient.suspended",
            f"{recipient.address} is suspended; earlier messages are kept, try again when the suspension ends",
        )
    return recipient


def _what_to_do(recipient: Service) -> str:
    if recipient.accepts is Accepts.PROVISIONED:
        return "link an account with it first (provisioning), and send from that service"
    return "ask its owner to list you"


def _is_listed(sender: Service, recipient: Service) -> bool:
    listed = {name.casefold() for name in recipient.accepts_from}
    return not listed.isdisjoint(sender.names)
