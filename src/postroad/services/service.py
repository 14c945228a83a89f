"""The interface of hosted services: given a delivered message, return what happens to it.

A hosted service is addressed, permitted, queued, journalled and billed like any other; only its application is the
network. Rule: a service reads the message and its tools, and returns a result; ``hosting`` posts, polls and
acknowledges. A ``Refused`` that it raises becomes the status of its answer, so the sender of the message sees the
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.interchange.standard import BUILT_IN, StandardCatalogue
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.message import Cookie, Delivered, Part, Property, Status
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import Forward
from postroad.errors import Refused
from postroad.flow.registries.open_exchange import OpenExchange
from postroad.flow.stages.forward import ForwardResult
from postroad.flow.stages.partner_acknowledgments import AcknowledgmentToSend, ReceivedAcknowledgments
from postroad.ports import QueryEngine, Validator
from postroad.services.crossreference.records import RecordStore
from postroad.services.engines import NULL_VALIDATOR, Transformer


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceResult:
    """The result of a service; without parts the message passes unchanged."""

    parts: tuple[Part, ...] | None = None
    properties: tuple[Property, ...] = ()
    status: Status | None = None
    forwards: tuple[Forward, ...] | None = (
        None  # of an exchange, a model or a splitter: the messages to forward; may be empty
    )


class ProvisioningActions(Protocol):
    """The operations of the provisioning service; services are named by GCID, messages by session."""

    async def confirm(
        self, provider: Service, gcid: str, token: str, cookie: Cookie | None = None, *, said_in: str = ""
    ) -> None: ...

    async def revoke(self, by: str, gcid: str, parties: Sequence[str], *, said_in: str = "") -> None: ...

    async def register_cookie(self, by: str, service: Service, sender: str, cookie: Cookie | None) -> str | None: ...


class ExchangeSource(Protocol):
    """Opens exchanges by GCID."""

    async def load(self, gcid: str) -> OpenExchange:
        """Return the exchange with all its current bindings."""


class ModelSource(Protocol):
    """Opens models by GCID."""

    async def load(self, gcid: str) -> ModelIndex | None:
        """Return the current model; None if it has no nodes."""


class PartnerChannel(Protocol):
    """The acknowledgment operations of a splitter, for the delivery that it processes."""

    async def came_before(self, delivered: Delivered, forwards: Sequence[Forward]) -> list[Forward]:
        """Return the forwards that another delivery has already made."""

    async def send(self, splitter: Service, delivered: Delivered, acknowledgment: AcknowledgmentToSend) -> None: ...

    async def record(
        self, splitter: Service, delivered: Delivered, all_received: Iterable[ReceivedAcknowledgments]
    ) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The tools of a service: the directory, its assets and the engines."""

    service: Service  # the hosted service itself
    directory: Directory
    transformer: Transformer
    references: RecordStore
    trust: ProvisioningActions
    exchanges: ExchangeSource
    models: ModelSource
    partners: PartnerChannel
    judges: Mapping[DeciderLanguage, QueryEngine]
    now_us: Callable[[], int]
    validator: Validator = NULL_VALIDATOR
    standards: StandardCatalogue = BUILT_IN  # of interchanges

    def asset(self, kind: AssetKind, name: str) -> Asset:
        """Return the service's asset of that name; the name is optional if it has only one of the kind."""
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
                f"{self.service.address} has {len(all_of_kind)} assets of kind {kind.value}; select one with the argument "
                f"{kind.value!r}",
                pointer=f"/arguments/{kind}",
            )
        return all_of_kind[0]


class HostedService(Protocol):
    """A built-in service."""

    async def work(self, message: Delivered, tools: Tools) -> ServiceResult: ...


@runtime_checkable
class ForwardingService(HostedService, Protocol):
    """A service that forwards messages in its own name; the host forwards them, then calls ``finish_forward``."""

    async def finish_forward(self, returned: ServiceResult, onward: ForwardResult, tools: Tools) -> ServiceResult: ...
