"""Models: change their trees piece by piece, attach and detach services, and read them.

The owner of a model changes its tree. The owner of a service (its developers, or the service itself) attaches it; to
another organization's model only where that is open to it. The owner of the model sees all attachments and may detach
any of them; others see the tree and their own attachments. Rules: a piece is one entry, applied completely or not at
all. A model that is not open to the caller is treated as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from postroad.core.admission.connection_rights import is_open_to, is_open_to_organization
from postroad.core.hierarchy import model_checks
from postroad.core.hierarchy.changes import ModelChange, ResolvedChange, resolve_change
from postroad.core.hierarchy.index import DEFAULT_STRATEGY, ModelIndex
from postroad.core.hierarchy.inspection import DeliveryPreview
from postroad.core.hierarchy.model import Attachment
from postroad.core.hierarchy.saved_model import PLACES_A_CHANGE, list_changed_objects
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service, is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import find_closed_receivers
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    can_know,
    find_visible_service,
    not_found,
    permission_denied,
    require_service,
)
from postroad.flow.registries.configuration import DirectoryChange

MAX_OBJECTS = PLACES_A_CHANGE  # that change at once
MAX_NODES = MAX_ATTACHMENTS = 2_000_000  # of one model
MAX_GUEST = 1_000  # attachments of one service of another organization
ATTACHED_BY = "Only the service itself, or a person with the role developer in its organization, may attach it"
AT_ONCE = 5_000  # of what is removed when a whole model goes


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleModel:
    """A model with the part that the caller may see."""

    service: Service
    index: ModelIndex | None  # None: it has no nodes
    all_of_it: bool  # whether they see what others have attached


# --- looking -----------------------------------------------------------------------------------------------------------


async def find_visible_model(administration: Administration, caller: Caller, named: str) -> VisibleModel:
    """Return the model if the caller owns it or may attach services to it; raises Refused otherwise."""
    directory = administration.directory
    service = find_visible_service(caller, directory, named)
    is_own = _is_own(caller, service)
    if service.hosted is not Hosting.MODEL:
        raise _no_model(service) if is_own else not_found()
    index = await administration.network.models.load(service.gcid)
    if not is_own and not is_open_to_organization(service, caller.organization, directory):
        guests = list_own_services(caller, directory)
        if index is None or not any(index.attachments_of(guest) for guest in guests):
            raise not_found()
    return VisibleModel(service=service, index=index, all_of_it=_sees_all(caller, service))


def _is_own(caller: Caller, model: Service) -> bool:
    return caller.can_view(model.organization)


def _no_model(service: Service) -> Refused:
    return Refused("configuration.conflict", f"{service.address} is not a model; set `hosted: model` first")


def list_visible_attachments(caller: Caller, looked: VisibleModel, directory: Directory) -> list[Attachment]:
    """Return the attachments of the caller's own services, by id."""
    if looked.index is None:
        return []
    found = [one for guest in list_own_services(caller, directory) for one in looked.index.attachments_of(guest)]
    return sorted(found, key=lambda one: one.id)


def list_own_services(caller: Caller, directory: Directory) -> set[str]:
    """Return the services whose attachments the caller always sees: those of its organization, or itself."""
    if caller.service is not None:
        return {caller.service.gcid}
    return {service.gcid for service in directory.services_of(caller.organization)}


def filter_reception(reception: DeliveryPreview, model: Service, directory: Directory) -> DeliveryPreview:
    """Return the reception without services to which the model has been closed."""
    there = {one.service for one in reception.receivers if one.service in directory.services}
    hearing = there - find_closed_receivers(model.gcid, there, directory)
    return replace(reception, receivers=[one for one in reception.receivers if one.service in hearing])


def _sees_all(caller: Caller, model: Service) -> bool:
    if caller.service is not None:
        return caller.service.gcid == model.gcid
    return caller.has_role(model.organization, Role.VIEWER)


# --- changing ----------------------------------------------------------------------------------------------------------


async def change(
    administration: Administration, caller: Caller, named: str, piece: ModelChange, reason: str
) -> ResolvedChange:
    """Apply a piece; services in it are named by address or GCID, and unchanged objects are not stored again."""
    _check_roles(caller, administration.directory, named, piece)
    looked = await find_visible_model(administration, caller, named)
    if len(piece) > MAX_OBJECTS:
        raise _too_many()
    carried_out = ResolvedChange()

    def decide(directory: Directory) -> list[DirectoryChange]:
        nonlocal carried_out
        if not administration.network.models.is_current(looked.service.gcid, looked.index):
            raise Refused("version.conflict", "Another client changed the model in the meantime; repeat your change")
        carried_out = _worked_out(caller, looked, piece, directory)
        objects = list_changed_objects(carried_out, looked.service.gcid, directory)
        return [DirectoryChange(kind=kind, key=key, value=value) for (kind, key), value in objects.items()]

    await administration.carry_out(caller.name, decide, reason)
    return carried_out


async def remove(administration: Administration, caller: Caller, named: str) -> None:
    """Remove the whole model except its service; a large one in several entries, leaves first."""
    service = require_service(caller, administration.directory, named, Role.DEVELOPER)
    looked = await find_visible_model(administration, caller, service.gcid)
    for piece in _pieces_of_all(looked.index) if looked.index is not None else ():
        await change(administration, caller, service.gcid, piece, "model removed")


def _pieces_of_all(index: ModelIndex) -> Iterator[ModelChange]:
    ids = [one.id for one in index.attachments()]
    tags = [node.tag for node in index.tree][::-1]
    strategies = tuple((topic, DEFAULT_STRATEGY) for topic in index.strategies)
    yield from (ModelChange(without_attachments=tuple(ids[at : at + AT_ONCE])) for at in range(0, len(ids), AT_ONCE))
    yield ModelChange(strategies=strategies)
    yield from (ModelChange(without_nodes=tuple(tags[at : at + AT_ONCE])) for at in range(0, len(tags), AT_ONCE))


def _worked_out(caller: Caller, looked: VisibleModel, piece: ModelChange, directory: Directory) -> ResolvedChange:
    service, index = looked.service, looked.index
    _check_roles(caller, directory, service.gcid, piece)
    _check_seen(caller, looked, piece, directory)
    named = tuple(_by_gcid(caller, looked, one, directory) for one in piece.attachments)
    found = resolve_change(index, replace(piece, attachments=named))
    if len(found) > MAX_OBJECTS:
        raise _too_many()
    for one in found.attachments:
        _check_may_attach(caller, looked, one, directory)
    if not caller.has_role(service.organization, Role.DEVELOPER):
        for one in found.gone:
            _check_own(caller, directory.services.get(one.service))
    _check_size(looked, found)
    return found


def _check_roles(caller: Caller, directory: Directory, named: str, piece: ModelChange) -> None:
    """Check the caller's role first, so that a refusal reveals nothing about the model."""
    model = find_visible_service(caller, directory, named)
    if piece.nodes or piece.strategies or piece.without_nodes:
        require_service(caller, directory, model.gcid, Role.DEVELOPER)
    if caller.service is None and not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied(ATTACHED_BY)
    if caller.service is not None and model.hosted is not Hosting.MODEL and _is_own(caller, model):
        raise permission_denied(f"{model.address} is not a model")
    for service in {one.service for one in piece.attachments} if caller.service is not None else ():
        _check_own(caller, directory.service(service))


def _check_seen(caller: Caller, looked: VisibleModel, piece: ModelChange, directory: Directory) -> None:
    """Refuse to detach what the caller may not see, as if it did not exist."""
    if looked.all_of_it or looked.index is None:
        return
    own = list_own_services(caller, directory)
    for id in piece.without_attachments:
        if looked.index.is_attached(id) and looked.index.attachment(id).service not in own:
            raise model_checks.unknown_attachment(id)


def _by_gcid(caller: Caller, looked: VisibleModel, attachment: Attachment, directory: Directory) -> Attachment:
    """Return the attachment with a GCID instead of an address; visible attachments may be named as shown."""
    index, named = looked.index, attachment.service
    there = index.attachment(attachment.id) if index is not None and index.is_attached(attachment.id) else None
    if looked.all_of_it and there is not None and there.service == named:
        return attachment
    service = directory.service(named)
    if service is None or not can_know(caller, service, directory):
        raise Refused(
            "not-found",
            f"service {named[:80]!r} does not exist, or you may not see it; check the name and your credentials",
        )
    return replace(attachment, service=service.gcid)


def _check_may_attach(caller: Caller, looked: VisibleModel, attachment: Attachment, directory: Directory) -> None:
    model, index = looked.service, looked.index
    attached = directory.services.get(attachment.service)
    _check_own(caller, attached)
    if attached is None or attached.gcid == model.gcid:
        raise Refused("value.invalid", "A model cannot be attached to itself; use another service")
    if not is_open_to(model, attached, directory):
        raise permission_denied(
            f"{model.address} is not open to {attached.address}; ask its owner to list it in openTo"
        )
    if index is None:
        return
    there = index.attachment(attachment.id) if index.is_attached(attachment.id) else attachment
    if not caller.has_role(model.organization, Role.DEVELOPER) and there.service not in list_own_services(
        caller, directory
    ):
        raise model_checks.id_taken(attachment.id)
    is_guest = not is_same_organization(attached.organization, model.organization)
    if is_guest and not caller.operator and len(index.attachments_of(attached.gcid)) >= MAX_GUEST:
        raise Refused(
            "value.invalid",
            f"{attached.address} is attached {MAX_GUEST} times, the maximum for other organizations; detach some first",
        )


def _check_own(caller: Caller, attached: Service | None) -> None:
    is_itself = attached is not None and caller.service is not None and caller.service.gcid == attached.gcid
    if not is_itself and not caller.has_role(attached.organization if attached is not None else "", Role.DEVELOPER):
        raise permission_denied(ATTACHED_BY)


def _check_size(looked: VisibleModel, found: ResolvedChange) -> None:
    index = looked.index
    nodes = (len(index) if index is not None else 0) + len(found.placed) - len(found.gone_nodes)
    attachments = (index.attached if index is not None else 0) + len(found.attachments) - len(found.gone)
    if nodes > MAX_NODES or attachments > MAX_ATTACHMENTS:
        raise Refused(
            "value.invalid",
            f"A model has at most {MAX_NODES} nodes and {MAX_ATTACHMENTS} attachments; split it into several models",
        )


def _too_many() -> Refused:
    return Refused(
        "value.invalid", f"At most {MAX_OBJECTS} nodes and attachments may change at once; use several change sets"
    )
