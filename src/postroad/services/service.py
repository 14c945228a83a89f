"""What every service that comes with the network is: given a delivered message, it says what becomes of it.

A hosted service is addressed, permitted, queued, journalled and billed like any other; only its application is the network.
Kept rule: a service looks at the message and its tools, and returns; it never posts, polls or acknowledges. That is
``hosting``'s. A ``Refused`` that it raises becomes the status of its answer, so what goes wrong is told to whoever sent the
message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from postroad.core.exchange.bound import Language
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.interchange.catalogue import BUILT_IN, Catalogue
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.message import Cookie, Delivered, Part, Property, Status
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forwards import Forward
from postroad.errors import Refused
from postroad.flow.forward import Onward
from postroad.flow.open_exchange import OpenExchange
from postroad.flow.partners import Hearing, Telling
from postroad.ports import QueryEngine, Validator
from postroad.services.engine import VALIDATES_NOTHING, Transformer
from postroad.services.references import References


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a service answers; without parts the message goes on as it came."""

    parts: tuple[Part, ...] | None = None
    properties: tuple[Property, ...] = ()
    status: Status | None = None
    forwards: tuple[Forward, ...] | None = (
        None  # by an exchange, a model or a splitter: to whom what goes, perhaps nobody
    )


class KeepsTrust(Protocol):
    """What the network's own service asks of the network; services are named by GCID, and messages by their session."""

    async def confirm(
        self, provider: Service, gcid: str, token: str, cookie: Cookie | None = None, *, said_in: str = ""
    ) -> None: ...

    async def revoke(self, by: str, gcid: str, parties: Sequence[str], *, said_in: str = "") -> None: ...

    async def register_cookie(self, by: str, service: Service, sender: str, cookie: Cookie | None) -> str | None: ...


class OpensExchanges(Protocol):
    async def opened(self, gcid: str) -> OpenExchange:
        """The exchange with every binding that it has now."""


class OpensModels(Protocol):
    async def opened(self, gcid: str) -> ModelIndex | None:
        """The model as it is now; None when it has no nodes."""


class MeetsPartners(Protocol):
    """What a splitter asks of the network; all is about the delivery that it has at hand."""

    async def came_before(self, delivered: Delivered, forwards: Sequence[Forward]) -> list[Forward]:
        """Those of which another delivery has brought the same."""

    async def tell(self, splitter: Service, delivered: Delivered, telling: Telling) -> None: ...

    async def hear(self, splitter: Service, delivered: Delivered, hearings: Iterable[Hearing]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a service works with: who takes part, its own assets, and those who do the heavy work."""

    service: Service  # the hosted service itself
    directory: Directory
    transformer: Transformer
    references: References
    trust: KeepsTrust
    exchanges: OpensExchanges
    models: OpensModels
    partners: MeetsPartners
    judges: Mapping[Language, QueryEngine]
    now_us: Callable[[], int]
    validator: Validator = VALIDATES_NOTHING
    standards: Catalogue = BUILT_IN  # of interchanges

    def asset(self, kind: AssetKind, name: str) -> Asset:
        """The service's asset of that name; where it has only one of the kind, the name may be left out."""
        if name:
            found = self.directory.asset(self.service.gcid, kind, name)
            if found is None:
                raise Refused(
                    "not-found",
                    f"{self.service.address} has no {kind.value} {name[:80]!r}",
                    pointer=f"/arguments/{kind}",
                )
            return found
        all_of_kind = [asset for asset in self.directory.assets_of(self.service.gcid) if asset.kind is kind]
        if len(all_of_kind) != 1:
            raise Refused(
                "value.invalid",
                f"{self.service.address} has {len(all_of_kind)} assets of kind {kind.value}; "
                f"name the one that is meant in the argument {kind.value!r}",
                pointer=f"/arguments/{kind}",
            )
        return all_of_kind[0]


class HostedService(Protocol):
    async def work(self, message: Delivered, tools: Tools) -> Returned: ...


@runtime_checkable
class ForwardingService(HostedService, Protocol):
    """One that lets messages go on to others in its own name; ``hosting`` does that, and asks what to answer then."""

    async def forwarded(self, returned: Returned, onward: Onward, tools: Tools) -> Returned: ...
