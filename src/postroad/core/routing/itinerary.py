"""The itinerary: for each recipient the services its copy passes, the recipient last.

Kept rule: nothing is delivered unless the whole route of that copy is valid, and one recipient's fault never touches another's
copy. At present a route is the explicit one in the header; routing rules elaborate it here when they come.
"""

from __future__ import annotations

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import check_policies, permitted
from postroad.core.model.directory import Service
from postroad.core.model.journal import Copy, Hop
from postroad.core.model.message import Recipient
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

HOPS_MOST = 25
CACHED_MOST = 100_000


def itineraries(admitted: Admitted, directory: Directory) -> tuple[Copy, ...]:
    """One copy per recipient, in header order; refuses the post when no copy can be routed."""
    copies = tuple([_copy(admitted, recipient, directory) for recipient in admitted.message.to])
    if all(copy.code for copy in copies):
        first = copies[0]
        raise Refused(first.code, first.detail, pointer="/to/0")
    return copies


def _copy(admitted: Admitted, recipient: Recipient, directory: Directory) -> Copy:
    """The copy for one recipient; the usual one, straight and without arguments, is remembered in the snapshot."""
    if admitted.message.route or recipient.arguments:
        return _routed(admitted, recipient, directory)
    caller = admitted.caller
    key = (admitted.sender.gcid, caller.secure, caller.level, recipient.service)
    copy: Copy | None = directory.cache.get(key)
    if copy is None:
        copy = _routed(admitted, recipient, directory)
        if len(directory.cache) < CACHED_MOST:
            directory.cache[key] = copy
    return copy


def _routed(admitted: Admitted, recipient: Recipient, directory: Directory) -> Copy:
    try:
        return Copy(recipient.service, _hops(admitted, recipient, directory))
    except Refused as refusal:
        return Copy(recipient.service, (), refusal.code, refusal.detail)


def _hops(admitted: Admitted, recipient: Recipient, directory: Directory) -> tuple[Hop, ...]:
    sender = admitted.sender
    if not admitted.message.route:  # the common case: straight from sender to recipient
        service = permitted(sender, recipient.service, directory)
        _check_physical(service)
        check_policies(admitted.caller, sender, (service,))
        return (Hop(service.gcid, recipient.arguments, sender.gcid),)
    stops = (*admitted.message.route, recipient)
    if len(stops) > HOPS_MOST:
        raise Refused("route.too-long", f"A route passes at most {HOPS_MOST} services; this one names {len(stops)}")
    services = tuple([permitted(sender, stop.service, directory) for stop in stops])
    _check_loop(services)
    _check_inclusion(sender)
    for service in services:
        _check_physical(service)
    check_policies(admitted.caller, sender, services)
    return tuple(
        [Hop(service.gcid, stop.arguments, sender.gcid) for service, stop in zip(services, stops, strict=True)]
    )


def _check_physical(service: Service) -> None:
    if service.logical_only:
        raise Refused("route.invalid", f"{service.address} takes part by its rules alone and cannot be delivered to")


def _check_inclusion(sender: Service) -> None:
    if not sender.may_include_services:
        raise Refused("route.invalid", f"{sender.address} may not bring other services into a route")


def _check_loop(services: tuple[Service, ...]) -> None:
    names = [service.address for service in services]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise Refused("route.invalid", f"The route comes twice to {name}: " + " → ".join(names))
