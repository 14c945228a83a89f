"""A cross-reference map and the services that share it.

A service that shares a map may read all of it, and writes only records of services of its own organization. The owner
of the map decides who shares it, and may relate all records. Rule: a map that is not shared with the caller, and a
service that the caller may not know, are treated like missing ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Struct

from postroad.core.configuration.document import DocumentError
from postroad.core.model.asset import AssetKind
from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.message import Delivered
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.service import Tools

MAX_SHARERS = 10_000


class MapAsset(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of an asset of kind map: the organizations, addresses or GCIDs that share it; ``*`` means all."""

    services: tuple[str, ...] | Literal["*"]


read_map = msgspec.json.Decoder(MapAsset).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMap:
    """A map as one of the services that share it sees it."""

    name: str
    owner: Service
    acting: Service  # the service that requested the operation
    tools: Tools
    sharers: frozenset[str] | None  # None: everyone

    def shares(self, service: Service) -> bool:
        return self.sharers is None or not self.sharers.isdisjoint(service.names)

    def party(self, argument: str, named: str) -> Service:
        """Return a service that is named in an argument and shares the map."""
        service = self.tools.directory.service(named)
        if service is None or not self.shares(service) or not self._is_known(service):
            raise bad_argument(argument, f"Service {named[:120]!r} does not share the map {self.name!r}")
        return service

    def _is_known(self, service: Service) -> bool:
        """Whether the acting service may know of this one, from the directory or the map."""
        listed = self.sharers is not None and not self.sharers.isdisjoint({service.address.casefold(), service.gcid})
        return listed or self.tools.directory.visible(service, self.acting.organization)

    def may_relate(self, one: Service, other: Service) -> bool:
        """Whether the acting service may relate records of these two."""
        acting = self.acting.organization
        return any(is_same_organization(acting, party.organization) for party in (one, other, self.owner))


def open_map(message: Delivered, arguments: Arguments, tools: Tools) -> SharedMap:
    """Return the map named by the arguments, for the service that included this one in the route."""
    acting = tools.directory.service(message.invoker or message.sender_gcid)
    name = arguments.get("map")
    try:
        asset = tools.asset(AssetKind.MAP, name)
    except Refused as refusal:
        raise _no_map(name) if name else refusal from None
    services = read_map(asset.content).services
    sharers = None if services == "*" else frozenset(named.casefold() for named in services)
    if acting is None or (sharers is not None and sharers.isdisjoint(acting.names)):
        raise _no_map(name)
    return SharedMap(name=asset.name, owner=tools.service, acting=acting, tools=tools, sharers=sharers)


def _no_map(name: str) -> Refused:
    called = f" {name[:80]!r}" if name else ""
    return bad_argument("map", f"You do not share a map{called} here; ask its owner to add you")


def find_map_errors(content: str) -> list[DocumentError]:
    try:
        services = read_map(content).services
    except msgspec.MsgspecError as error:
        return [DocumentError("", f'{error}; write it like {{"services": ["MyBiz/Purchasing", "TheAcmeCompany"]}}')]
    if services != "*" and len(services) > MAX_SHARERS:
        return [DocumentError("/services", f"at most {MAX_SHARERS} services can be named; name organizations instead")]
    return []
