"""Which documents of a message an in-transit service may read and change, as the message's sender has decided.

Kept rule: a withheld document never leaves the network and is there again afterwards, in its old place and byte for byte.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from postroad.core.model.directory import DocumentAccess, Service
from postroad.core.model.journal import Hop
from postroad.core.model.message import Part
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused


def access_at(hop: Hop, sender: Service | None, directory: Directory) -> DocumentAccess | None:
    """What the sender lets the service at this place do.

    One that is kept from the sender in another one's place is given no more than that one, which the sender can name.
    """
    service, context = directory.services.get(hop.service), hop.context
    if context is None or not context.isolated or not context.through:
        return access_for(sender, service)
    return access_for(sender, directory.services.get(context.through[-1])) or access_for(sender, service)


def access_for(sender: Service | None, service: Service | None) -> DocumentAccess | None:
    """What the sender lets this service do; None when it has said nothing, which means everything."""
    if sender is None or service is None or not sender.document_access:
        return None
    names = (service.gcid, service.address.casefold(), service.organization.casefold())
    return next((one for one in sender.document_access if one.service.casefold() in names), None)


def readable(parts: tuple[Part, ...], access: DocumentAccess | None) -> tuple[Part, ...]:
    """The parts that the service is given."""
    if access is None:
        return parts
    return tuple([part for part in parts if may_read(part.id, access)])


def may_read(part_id: str, access: DocumentAccess | None) -> bool:
    return access is None or _listed(part_id, access.read)


def merged(parts: tuple[Part, ...], returned: tuple[Part, ...], access: DocumentAccess | None) -> tuple[Part, ...]:
    """The message's parts after the service has returned some; refuses a change that it may not make.

    Parts that it may change and did not return are gone; those that it may only read stay whether it returns them or not.
    """
    if access is None:
        return returned
    answered = {part.id: part for part in returned}
    for part in parts:
        if part.id in answered and not _may_change(part.id, access) and answered[part.id] != part:
            raise _read_only(part.id)
    known = {part.id for part in parts}
    new = [part for part in returned if part.id not in known]
    for part in new:
        if not _listed(part.id, access.change):
            raise _read_only(part.id)
    kept = [answered.get(part.id, part) for part in parts if part.id in answered or not _may_change(part.id, access)]
    return (*kept, *new)


def _may_change(part_id: str, access: DocumentAccess) -> bool:
    return _listed(part_id, access.read) and _listed(part_id, access.change)


def _listed(part_id: str, patterns: tuple[str, ...]) -> bool:
    return any(pattern == "*" or fnmatchcase(part_id, pattern) for pattern in patterns)


def _read_only(part_id: str) -> Refused:
    return Refused(
        "document.read-only",
        f"The sender does not allow this service to change document {part_id[:80]!r}; return it as it came, or leave it out",
        pointer="/documents",
    )
