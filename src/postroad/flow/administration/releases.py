"""Release deliveries that wait for release at a service, on request.

Rule: developers of the organization may release, and the service itself, which could poll instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.delivery.release_schedule import ON_REQUEST
from postroad.core.delivery.windows import next_opening
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DeliveryMode, Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import find_visible_service, require_service
from postroad.flow.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """The result of a release: how many messages, and when if a window must open first."""

    service: Service
    going: int
    not_before_us: int = 0  # 0 = now


async def release(network: Network, caller: Caller, named: str) -> ReleaseResult:
    """Release everything held for the service now; later messages are held again."""
    service = _service(caller, network.directory, named)
    if network.directory.is_suspended(service):
        raise Refused(
            "service.suspended", f"{service.address} is suspended; its messages wait until the suspension ends"
        )
    if service.release is None or not service.release.holds or service.delivery is not DeliveryMode.PUSH:
        return ReleaseResult(service=service, going=0)
    held = await network.releases.release(service.gcid, caller.name, ON_REQUEST)
    now_us = network.clock.now_us()
    opening_us = next_opening(service.windows, service.time_zone, now_us)
    return ReleaseResult(service=service, going=held.waiting, not_before_us=opening_us if opening_us > now_us else 0)


def _service(caller: Caller, directory: Directory, named: str) -> Service:
    service = find_visible_service(caller, directory, named)
    if caller.service is not None and caller.service.gcid == service.gcid:
        return service
    return require_service(caller, directory, named, Role.DEVELOPER)
