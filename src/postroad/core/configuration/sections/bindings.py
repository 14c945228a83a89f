"""Plans and exports the bindings of exchanges.

They are listed below their exchange. Queues are looked up after everything else is planned, since the same document
may create them. Rules: an author for one organization may bind only queues of that organization. An unchanged binding
needs no permission, so applying an export changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from postroad.core.admission.connection_rights import is_open_to
from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import DocumentError, NetworkDocument, ServiceEntry, pointer
from postroad.core.configuration.entries.bindings import RESERVED, BindingEntry, binding_entry, binding_of
from postroad.core.exchange.exchange import decider_of, find_exceeded_limit, is_always_evaluated
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.snapshot import Directory


class BindingPlace(NamedTuple):
    """A binding in a document, and the pointer to it."""

    place: str
    address: str  # of the exchange
    name: str
    entry: BindingEntry


def binding_places(document: NetworkDocument) -> Iterator[BindingPlace]:
    for organization_name, organization in document.organizations.items():
        for service, wish in organization.services.items():
            for name, entry in (wish.bindings or {}).items():
                place = pointer("organizations", organization_name, "services", service, "bindings", name)
                yield BindingPlace(place, f"{organization_name}/{service}", name, entry)


def wanted_bindings(document: NetworkDocument, after: Directory, planning: PlanningContext) -> list[WantedObject]:
    """The bindings that the document asks for; ``after`` is the directory with all else that it brings."""
    found = []
    for one in binding_places(document):
        exchange = after.service(one.address)
        if exchange is None:  # its own errors are reported
            continue
        queue = after.service(one.entry.queue)
        existing = planning.directory.binding(exchange.gcid, one.name)
        kept = queue is not None and existing is not None and existing.queue == queue.gcid
        if queue is None or not (kept or _is_known(queue, exchange, planning)):
            planning.fault(one.place + "/queue", "the service does not exist, or you may not see it; check its name")
            continue
        known = existing.name if existing else one.name
        wanted = binding_of(one.entry, exchange.gcid, known, queue.gcid)
        if wanted != existing:
            planning.faults += _faults(one.place, wanted, exchange, queue, after, planning)
        found.append(WantedObject(one.place, wanted, f"{exchange.address}: {known}"))
    return found


def _is_known(queue: Service, exchange: Service, planning: PlanningContext) -> bool:
    """True if the planning party may know that the queue's service exists."""
    return planning.may_choose_ids or planning.directory.visible(queue, exchange.organization)


def queue_name(gcid: str, exchange: Service, directory: Directory, planning: PlanningContext) -> str:
    """Return the address of a queue, which is the same in every plan."""
    queue = directory.services.get(gcid)
    return queue.address if queue is not None and _is_known(queue, exchange, planning) else gcid


def _faults(
    place: str, wanted: Binding, exchange: Service, queue: Service, after: Directory, planning: PlanningContext
) -> Iterator[DocumentError]:
    """Yield the errors of a binding that is new or changed."""
    if exchange.hosted is not Hosting.EXCHANGE:
        yield DocumentError(place, "only an exchange has bindings; set `hosted: exchange` of the service")
    if wanted.name.casefold() == RESERVED:
        yield DocumentError(place, f"{RESERVED} is the name of an action; choose another")
    if queue.gcid == exchange.gcid:
        yield DocumentError(place + "/queue", "an exchange cannot be bound to itself; use another service")
    foreign = not is_same_organization(queue.organization, exchange.organization)
    if foreign and not planning.may_choose_ids:
        yield DocumentError(place + "/queue", "only its own organization can bind this queue")
    elif not is_open_to(exchange, queue, after):
        yield DocumentError(
            place + "/queue",
            "the exchange is not open to this organization; list it in openTo, and make the exchange public",
        )
    if wanted.routing and decider_of(wanted, after, planning.callables) is None:
        yield DocumentError(place + "/routing", "no query or script with this name is installed at the exchange")
    yield from planning.binding_faults.get(place, ())


def prunable_bindings(document: NetworkDocument, directory: Directory) -> list[Binding]:
    """Return the bindings that pruning may remove."""
    found: list[Binding] = []
    for organization_name, organization in document.organizations.items():
        wishes = {name.casefold(): wish for name, wish in organization.services.items()}
        moved = {wish.gcid: wish for wish in organization.services.values() if wish.gcid}
        for service in directory.services_of(organization_name):
            wish: ServiceEntry | None = moved.get(service.gcid) or wishes.get(service.name.casefold())
            if wish is None or wish.bindings is not None:
                found += directory.bindings_of(service.gcid)
    return found


def count_errors(
    wanted: list[WantedObject], before: Directory, after: Directory, planning: PlanningContext
) -> list[DocumentError]:
    """Return errors for too many bindings; checked only where there are new ones."""
    new = [one for one in wanted if before.object("binding", _key(one.value)) != one.value]
    if not new:
        return []
    of_queue = Counter(one.queue for one in after.bindings.values())
    always = _unconditional_counts(new, after, planning.callables)
    counted = [(one, of_queue[one.value.queue], always.get((one.value.exchange, one.value.queue), 0)) for one in new]
    sizes = {one.value.exchange: len(after.bindings.of(one.value.exchange)) for one in new}
    told = [(one.place, find_exceeded_limit(of_exchange=sizes[one.value.exchange], of_queue=queue, always=evaluated))
            for one, queue, evaluated in counted]  # fmt: skip
    return [DocumentError(place, why) for place, why in told if why]


def _unconditional_counts(
    new: list[WantedObject], after: Directory, callables: frozenset[str]
) -> Mapping[tuple[str, str], int]:
    """Count bindings that are evaluated for every message, by exchange and queue."""

    def evaluated(binding: Binding) -> bool:
        return is_always_evaluated(binding, decider_of(binding, after, callables))

    touched = {(one.value.exchange, one.value.queue) for one in new if evaluated(one.value)}
    exchanges = {exchange for exchange, _ in touched}
    candidates = [one for exchange in exchanges for one in after.bindings.of(exchange).values()]
    return Counter((one.exchange, one.queue) for one in candidates
                   if (one.exchange, one.queue) in touched and evaluated(one))  # fmt: skip


def _key(binding: Binding) -> str:
    return binding_key(binding.exchange, binding.name)


def exported_bindings(service: Service, directory: Directory, for_members: bool) -> dict[str, Any]:
    """Queues by address; by GCID those that members of the exchange's organization may not know of."""
    exported = {}
    for binding in directory.bindings_of(service.gcid):
        queue = directory.services.get(binding.queue)
        if queue is not None:
            known = not for_members or directory.visible(queue, service.organization)
            exported[binding.name] = binding_entry(binding, queue.address if known else queue.gcid)
    return {"bindings": exported} if exported else {}
