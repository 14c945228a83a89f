"""The documents that an in-transit service may read and change, as set by the message's sender.

Rules: a withheld document never leaves the network and is restored afterwards, at its old position and byte for byte.
A service that replaces another one, or is isolated by another one, gets no more access than that one, which the
sender can name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from postroad.core.model.contexts import Ancestry
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import DocumentAccess, Service
from postroad.core.model.message import Part
from postroad.core.model.route import Context, Hop
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

Access = tuple[DocumentAccess, ...]  # the access that all of these allow; full access if empty

_NOTHING = DocumentAccess(service="", read=(), change=())  # for services that a deleted service included


def access_at(queued: Queued, directory: Directory) -> Access:
    """Return the access that the sender grants to the service of this delivery."""
    sender = _find_withholding_sender(queued, directory)
    if sender is None:
        return ()
    ancestry = Ancestry(queued.hops, queued.logical)
    return access_of(sender, _responsible_services(queued, list(ancestry.upwards(queued.hop)), ancestry), directory)


def access_of_invoker(queued: Queued, directory: Directory) -> Access:
    """Return the access that the sender grants to the invoker of this delivery's service."""
    sender = _find_withholding_sender(queued, directory)
    if sender is None:
        return ()
    ancestry = Ancestry(queued.hops, queued.logical)
    above = list(ancestry.upwards(queued.hop))[1:]
    if above:
        return access_of(sender, _responsible_services(queued, above, ancestry), directory)
    invoker = queued.hops[queued.hop].invoker
    return () if invoker in _receiving_services(queued, ancestry) else access_of(sender, (invoker,), directory)


def _find_withholding_sender(queued: Queued, directory: Directory) -> Service | None:
    """Return the sender if it restricts any access and the service is in transit; otherwise None."""
    sender = directory.services.get(queued.message.sender) if queued.in_transit else None
    return sender if sender is not None and sender.document_access else None


def _responsible_services(queued: Queued, contexts: list[Context], ancestry: Ancestry) -> Iterator[str]:
    """Return the GCIDs of the first service, and of the in-transit services that it replaces or that isolate it.

    The recipient has full access.
    """
    receiving = _receiving_services(queued, ancestry)
    for context in contexts:
        hop = ancestry.hop(context.id)
        if hop is None or (context is not contexts[0] and hop.service in receiving):
            return
        yield hop.service
        yield from (gcid for gcid in (*context.through, context.shown_sender) if gcid and gcid not in receiving)
        if not context.through and not context.shown_sender:
            return


def _receiving_services(queued: Queued, ancestry: Ancestry) -> set[str]:
    """Return the GCIDs of the recipient and of the services that redirected to it."""
    hops: list[Hop | None] = [ancestry.hop(context.id) for context in ancestry.upwards(len(queued.hops) - 1)]
    return {hop.service for hop in hops if hop is not None}


def access_of(sender: Service | None, gcids: Iterable[str], directory: Directory) -> Access:
    """Return the access that the sender grants to a service acting for these services."""
    if sender is None or not sender.document_access:
        return ()
    known = [directory.services.get(gcid) for gcid in dict.fromkeys(gcids) if gcid != sender.gcid]
    found = [access_for(sender, service) if service is not None else _NOTHING for service in known]
    return tuple([access for access in found if access is not None])


def access_for(sender: Service, service: Service) -> DocumentAccess | None:
    """Return the access that the sender set for this service; None means full access."""
    names = service.names
    return next((one for one in sender.document_access if one.service.casefold() in names), None)


def readable_parts(parts: tuple[Part, ...], access: Access) -> tuple[Part, ...]:
    """Return the parts that the service may read."""
    if not access:
        return parts
    return tuple([part for part in parts if may_read(part.id, access)])


def may_read(part_id: str, access: Access) -> bool:
    return all(_listed(part_id, one.read) for one in access)


def merge_parts(parts: tuple[Part, ...], returned: tuple[Part, ...], access: Access) -> tuple[Part, ...]:
    """Return the message's parts after the service returned some; Refused if it changed a read-only part.

    Parts that the service may change and did not return are removed; parts that it may only read stay whether it
    returns them or not.
    """
    if not access:
        return returned
    answered = {part.id: part for part in returned}
    for part in parts:
        if part.id in answered and not _may_change(part.id, access) and answered[part.id] != part:
            raise _read_only(part.id)
    known = {part.id for part in parts}
    new = [part for part in returned if part.id not in known]
    for part in new:
        if not _may_add(part.id, access):
            raise _read_only(part.id)
    kept = [answered.get(part.id, part) for part in parts if part.id in answered or not _may_change(part.id, access)]
    return (*kept, *new)


def _may_change(part_id: str, access: Access) -> bool:
    return may_read(part_id, access) and _may_add(part_id, access)


def _may_add(part_id: str, access: Access) -> bool:
    return all(_listed(part_id, one.change) for one in access)


def _listed(part_id: str, patterns: tuple[str, ...]) -> bool:
    return any(pattern == "*" or fnmatchcase(part_id, pattern) for pattern in patterns)


def _read_only(part_id: str) -> Refused:
    return Refused(
        "document.read-only",
        f"The sender does not allow this service to change document {part_id[:80]!r}; return it unchanged, or omit it",
        pointer="/documents",
    )
