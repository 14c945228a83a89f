"""Bindings: create, replace, remove and list, with permission checks.

The owner of a queue (its developers, or its service itself) decides where it is bound. To bind it to another
organization's exchange, that exchange must be open to it. The owner of an exchange sees all its bindings and may
remove any of them; others see those of their own queues. Rules: queries and scripts are compiled before the binding
is saved. An exchange that is not open to the caller is treated as if it did not exist.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.admission.connection_rights import is_open_to, is_open_to_organization
from postroad.core.configuration.entries.bindings import RESERVED, default_binding_name
from postroad.core.exchange.exchange import (
    BindingDecider,
    BoundExchange,
    decider_of,
    find_exceeded_limit,
    is_always_evaluated,
)
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Role, Service
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    Judges,
    build_removal,
    describe_service,
    find_visible_service,
    not_found,
    permission_denied,
)
from postroad.flow.network import Network
from postroad.flow.registries.bindings import BindingRegistry
from postroad.flow.registries.configuration import DirectoryChange, build_save

# --- looking -----------------------------------------------------------------------------------------------------------


def find_exchange(caller: Caller, network: Network, named: str) -> Service:
    """Return the exchange if the caller may bind a queue to it or has done so; raises Refused otherwise."""
    directory = network.directory
    service = find_visible_service(caller, directory, named)
    if caller.can_view(service.organization):
        return service
    is_open = service.hosted is Hosting.EXCHANGE and is_open_to_organization(service, caller.organization, directory)
    if not is_open and not network.bindings.at(service.gcid, _queues_of(caller, directory)):
        raise not_found()
    return service


def list_visible_bindings(caller: Caller, network: Network, exchange: Service) -> list[Binding]:
    """Return the exchange's bindings that the caller may see, sorted by name."""
    if _sees_all(caller, exchange):
        return network.bindings.list_bindings(exchange.gcid)
    found = network.bindings.at(exchange.gcid, _queues_of(caller, network.directory))
    return sorted(found, key=lambda binding: binding.name.casefold())


def find_binding(caller: Caller, network: Network, named: str, name: str) -> Binding:
    exchange = find_exchange(caller, network, named)
    found = network.directory.binding(exchange.gcid, name)
    if found is None or not _sees(caller, found, exchange, network.directory):
        raise not_found()
    return found


def describe_queue(caller: Caller, binding: Binding, directory: Directory) -> str:
    """Return the address of a binding's queue, or its GCID if the caller may not know of it."""
    return describe_service(caller, binding.queue, directory)


def _sees_all(caller: Caller, exchange: Service) -> bool:
    if caller.service is not None:
        return caller.service.gcid == exchange.gcid
    return caller.has_role(exchange.organization, Role.VIEWER)


def _sees(caller: Caller, binding: Binding, exchange: Service, directory: Directory) -> bool:
    return _sees_all(caller, exchange) or binding.queue in _queues_of(caller, directory)


def _queues_of(caller: Caller, directory: Directory) -> set[str]:
    """Return the services whose bindings the caller sees: those of its organization, or only itself."""
    if caller.service is not None:
        return {caller.service.gcid}
    return {service.gcid for service in directory.services_of(caller.organization)}


# --- binding -----------------------------------------------------------------------------------------------------------


async def bind(administration: Administration, caller: Caller, wish: Binding) -> Binding:
    """Create a binding; without a name, equal bindings are created only once."""
    binding = resolve_binding(caller, administration.network, wish)
    kept = administration.directory.binding(binding.exchange, binding.name)
    if kept is None:
        return await _save(administration, caller, binding, 0, "bound")
    if kept == binding and not wish.name:
        return kept
    if wish.name or replace(kept, description=binding.description, enabled=binding.enabled) != binding:
        detail = "The exchange has a binding with this name; choose another name, or change that binding"
        raise Refused("name.taken", detail, pointer="/name")
    seen = administration.directory.object_version(*object_key(kept))
    return await _save(administration, caller, binding, seen, "binding changed")


async def replace_binding(
    administration: Administration, caller: Caller, wish: Binding, current: Binding, seen_version: int
) -> Binding:
    """Replace the content of a binding that the caller has read."""
    network = administration.network
    _check_may_bind(caller, network.directory.services.get(current.queue))
    binding = replace(resolve_binding(caller, network, wish), name=current.name)
    return await _save(administration, caller, binding, seen_version, "binding changed")


async def unbind(administration: Administration, caller: Caller, binding: Binding, seen_version: int) -> None:
    """Remove a binding; allowed to those who may bind the queue or own the exchange."""

    def decide(directory: Directory) -> list[DirectoryChange]:
        found = find_binding(caller, administration.network, binding.exchange, binding.name)
        exchange = directory.services[found.exchange]
        if not caller.has_role(exchange.organization, Role.DEVELOPER):
            _check_may_bind(caller, directory.services.get(found.queue))
        return [build_removal(found, seen_version)]

    await administration.carry_out(caller.name, decide, "unbound")


def resolve_binding(caller: Caller, network: Network, wish: Binding) -> Binding:
    """Return the binding with GCIDs and a name; raises Refused if the caller may not create it."""
    directory = network.directory
    exchange = find_exchange(caller, network, wish.exchange)
    queue = find_visible_service(caller, directory, wish.queue)
    _check_may_bind(caller, queue)
    check_connected(caller, exchange, queue, directory)
    binding = replace(wish, exchange=exchange.gcid, queue=queue.gcid)
    if not wish.name:
        return replace(binding, name=default_binding_name(binding, queue))
    check_name(wish.name, "The binding's")
    if wish.name.casefold() == RESERVED:
        raise Refused("name.invalid", f"{RESERVED} is the name of an action; choose another", pointer="/name")
    return binding


def _check_may_bind(caller: Caller, queue: Service | None) -> None:
    is_itself = queue is not None and caller.service is not None and caller.service.gcid == queue.gcid
    if not is_itself and not caller.has_role(queue.organization if queue is not None else "", Role.DEVELOPER):
        raise permission_denied(
            "Only the queue's own service, or a person with the role developer in its organization, may bind it"
        )


def check_connected(caller: Caller, exchange: Service, queue: Service, directory: Directory) -> None:
    """Refuse bindings between services that must not be connected, for any caller."""
    if exchange.hosted is not Hosting.EXCHANGE:
        detail = f"{exchange.address} is not an exchange; set `hosted: exchange` first"
        raise Refused("configuration.conflict", detail)
    if queue.gcid == exchange.gcid:
        raise Refused("value.invalid", "An exchange cannot be bound to itself; use another service", pointer="/queue")
    if not is_open_to(exchange, queue, directory):
        raise permission_denied(
            f"{exchange.address} is not open to {queue.address}; ask its owner to list it in openTo"
        )


async def _save(
    administration: Administration, caller: Caller, binding: Binding, seen_version: int, reason: str
) -> Binding:
    network = administration.network
    decider = find_decider(binding, network)
    await check_program(binding, decider, administration.judges)
    opened = await network.exchanges.load(binding.exchange) if is_always_evaluated(binding, decider) else None

    def decide(directory: Directory) -> list[DirectoryChange]:
        resolve_binding(caller, network, binding)
        _check_number(binding, directory, network.bindings, opened)
        return [build_save(binding, _seen(binding, directory, seen_version))]

    await administration.carry_out(caller.name, decide, reason)
    return binding


def _seen(binding: Binding, directory: Directory, seen_version: int) -> int:
    """Return the version to build on: the one that was read, or that of a removed binding."""
    key = binding_key(binding.exchange, binding.name)
    if seen_version or key in directory.bindings:
        return seen_version
    return directory.object_version("binding", key)


def find_decider(binding: Binding, network: Network) -> BindingDecider | None:
    """Return how a binding is evaluated; raises Refused if the routing it names does not exist."""
    decider = decider_of(binding, network.directory, network.exchanges.callables)
    if binding.routing and decider is None:
        raise Refused(
            "routing.unknown",
            f"Routing {binding.routing[:80]!r} is not installed; save a query or script with this name at the exchange, or "
            "ask the network's operator",
            pointer="/routing",
        )
    return decider


async def check_program(binding: Binding, decider: BindingDecider | None, judges: Judges) -> None:
    """Compile the query or script in a binding; installed ones were checked when they were saved."""
    if decider is None or binding.routing:
        return
    judge = judges.get(decider.language)
    if judge is None:
        raise Refused("request.not-implemented", f"This network does not support bindings by {decider.language.value}")
    await judge.check(decider.text)


def _check_number(binding: Binding, directory: Directory, book: BindingRegistry, opened: BoundExchange | None) -> None:
    """Check the limit of bindings; ``opened`` is the exchange if the binding is evaluated for every message."""
    key = binding_key(binding.exchange, binding.name)
    others = book.of_queue(binding.queue) - {key}
    new = key not in directory.bindings
    always = 0
    if opened is not None:
        always = 1 + sum(opened.is_always_evaluated(one) for one in others if one.startswith(f"{binding.exchange}/"))
    why = find_exceeded_limit(of_exchange=book.count(binding.exchange) + new, of_queue=len(others) + 1, always=always)
    if why:
        raise Refused("binding.too-many", why)
