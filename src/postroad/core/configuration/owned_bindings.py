"""What a document wants of the bindings of exchanges, and the bindings as an export writes them.

They stand below their exchange. Queues are looked up once everything else is planned, since the same document may bring them.
Kept rules: those who write for one organization make bindings for queues of that organization only; a binding that stays as
it is, is nobody's doing, so an export that is applied changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from postroad.core.admission.openness import is_open_to
from postroad.core.configuration.bindings import RESERVED, BindingEntry, binding_entry, binding_of
from postroad.core.configuration.document import Fault, NetworkDocument, ServiceEntry, pointer
from postroad.core.configuration.planning import Planning, Wanted
from postroad.core.exchange.binding_limits import too_many
from postroad.core.exchange.bound import decider_of, is_always_evaluated
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.snapshot import Directory


class BindingPlace(NamedTuple):
    """A binding in a document, and where it stands."""

    place: str
    address: str  # of the exchange
    name: str
    entry: BindingEntry


def binding_places(document: NetworkDocument) -> Iterator[BindingPlace]:
    for house, organization in document.organizations.items():
        for service, wish in organization.services.items():
            for name, entry in (wish.bindings or {}).items():
                place = pointer("organizations", house, "services", service, "bindings", name)
                yield BindingPlace(place, f"{house}/{service}", name, entry)


def wanted_bindings(document: NetworkDocument, after: Directory, planning: Planning) -> list[Wanted]:
    """The bindings that the document asks for; ``after`` is the directory with all else that it brings."""
    found = []
    for one in binding_places(document):
        exchange = after.service(one.address)
        if exchange is None:  # its own faults are told
            continue
        queue = after.service(one.entry.queue)
        existing = planning.directory.binding(exchange.gcid, one.name)
        kept = queue is not None and existing is not None and existing.queue == queue.gcid
        if queue is None or not (kept or _is_known(queue, exchange, planning)):
            planning.fault(one.place + "/queue", "there is no such service, or none that you may see; check its name")
            continue
        known = existing.name if existing else one.name
        wanted = binding_of(one.entry, exchange.gcid, known, queue.gcid)
        if wanted != existing:
            planning.faults += _faults(one.place, wanted, exchange, queue, after, planning)
        found.append(Wanted(one.place, wanted, f"{exchange.address}: {known}"))
    return found


def _is_known(queue: Service, exchange: Service, planning: Planning) -> bool:
    """Whether those who plan for the exchange's organization may know of the queue's service; operators know of all."""
    return planning.may_choose_ids or planning.directory.visible(queue, exchange.organization)


def queue_named(gcid: str, exchange: Service, directory: Directory, planning: Planning) -> str:
    """A queue in a plan: by its address, which is the same in every plan, also of a service that is new."""
    queue = directory.services.get(gcid)
    return queue.address if queue is not None and _is_known(queue, exchange, planning) else gcid


def _faults(
    place: str, wanted: Binding, exchange: Service, queue: Service, after: Directory, planning: Planning
) -> Iterator[Fault]:
    """What is wrong with a binding that is new, or not as it was."""
    if exchange.hosted is not Hosting.EXCHANGE:
        yield Fault(place, "only an exchange has bindings; give the service `hosted: exchange`")
    if wanted.name.casefold() == RESERVED:
        yield Fault(place, f"{RESERVED} names what is done with bindings; choose another")
    if queue.gcid == exchange.gcid:
        yield Fault(place + "/queue", "an exchange is not bound to itself; name another service")
    foreign = queue.organization.casefold() != exchange.organization.casefold()
    if foreign and not planning.may_choose_ids:
        yield Fault(place + "/queue", "a queue of another organization is bound by that organization, not for it")
    elif not is_open_to(exchange, queue, after):
        yield Fault(place + "/queue", "the exchange is not open to it; list it in openTo, and make the exchange public")
    if wanted.routing and decider_of(wanted, after, planning.callables) is None:
        yield Fault(place + "/routing", "no query or script of this name is installed at the exchange")
    yield from planning.binding_faults.get(place, ())


def prunable_bindings(document: NetworkDocument, directory: Directory) -> list[Binding]:
    """Those of exchanges of which the document lists any, or which it does not want at all."""
    found: list[Binding] = []
    for house, organization in document.organizations.items():
        wishes = {name.casefold(): wish for name, wish in organization.services.items()}
        moved = {wish.gcid: wish for wish in organization.services.values() if wish.gcid}
        for service in directory.services_of(house):
            wish: ServiceEntry | None = moved.get(service.gcid) or wishes.get(service.name.casefold())
            if wish is None or wish.bindings is not None:
                found += directory.bindings_of(service.gcid)
    return found


def number_faults(wanted: list[Wanted], before: Directory, after: Directory, planning: Planning) -> list[Fault]:
    """Bindings that are too many; looked for only where there are new ones."""
    new = [one for one in wanted if before.object("binding", _key(one.value)) != one.value]
    if not new:
        return []
    of_queue = Counter(one.queue for one in after.bindings.values())
    always = _always(new, after, planning.callables)
    counted = [(one, of_queue[one.value.queue], always.get((one.value.exchange, one.value.queue), 0)) for one in new]
    sizes = {one.value.exchange: len(after.bindings.of(one.value.exchange)) for one in new}
    told = [(one.place, too_many(of_exchange=sizes[one.value.exchange], of_queue=queue, always=evaluated))
            for one, queue, evaluated in counted]  # fmt: skip
    return [Fault(place, why) for place, why in told if why]


def _always(new: list[Wanted], after: Directory, callables: frozenset[str]) -> Mapping[tuple[str, str], int]:
    """How many bindings are evaluated for every message, where a new one is: by exchange and queue."""

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
