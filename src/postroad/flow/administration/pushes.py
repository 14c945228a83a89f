"""Push state of a service, and immediate pushes on request.

Rule: the service and the members of its organization may see the pause. The service and its developers may ask for a
push; the service could poll instead. The journal records who asked for a push.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.caller import Caller
from postroad.core.model.delivery import PushPause
from postroad.core.model.directory import DeliveryMode, Role, Service
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import find_visible_service, require_service
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.network import Network
from postroad.flow.registries.push_control import RequestedPush
from postroad.ports import JournalStep

NOT_PUSHED = "this service does not receive pushes: its profile does not have delivery: push"
NOT_HERE = "this server does not push messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushState:
    """Whether pushes to a service are paused, and problems of its settings."""

    service: Service
    pause: PushPause | None
    problems: tuple[str, ...] = ()  # what is wrong with its push settings


def find_push_state(network: Network, caller: Caller, named: str) -> PushState:
    """Return whether pushes to the service are paused, until when and why."""
    service = _service(caller, network.directory, named, Role.VIEWER)
    problems = tuple(fault.text for fault in network.pushes.faults(service))
    return PushState(service=service, pause=network.pushes.pause(service.gcid), problems=problems)


async def try_now(network: Network, caller: Caller, named: str) -> tuple[Service, RequestedPush]:
    """Push the oldest waiting message at once, even in a pause; a success ends the pause."""
    service = _service(caller, network.directory, named, Role.DEVELOPER)
    if network.directory.is_suspended(service):
        raise Refused(
            "service.suspended", f"{service.address} is suspended; its messages wait until the suspension ends"
        )
    if service.delivery is not DeliveryMode.PUSH:
        return service, RequestedPush(reason=NOT_PUSHED)
    entry = AccessRecorded(at_us=network.clock.now_us(), by=caller.name, what="push.tried", detail=service.address)
    await commit_step(network.desk, JournalStep(entry, reserve=True))
    return service, await network.pushes.try_now(service.gcid) or RequestedPush(reason=NOT_HERE)


def _service(caller: Caller, directory: Directory, named: str, least: Role) -> Service:
    service = find_visible_service(caller, directory, named)
    if caller.service is not None and caller.service.gcid == service.gcid:
        return service
    return require_service(caller, directory, named, least)
