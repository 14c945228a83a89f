"""What the tests of single services work with: a message as it is delivered, and tools that need no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import msgspec

from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.journal import ObjectChange
from postroad.core.model.message import (
    AnsweredMessage,
    Argument,
    Cookie,
    Delivered,
    MessageType,
    Part,
    Property,
    Status,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import Forward
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Refused
from postroad.flow.registries.open_exchange import OpenExchange
from postroad.flow.stages.partner_acknowledgments import AcknowledgmentToSend, ReceivedAcknowledgments
from postroad.ports import ItemValue, QueryVerdict
from postroad.services.crossreference.records import MapChangeCause, Related
from postroad.services.engines import Engines, Transformer
from postroad.services.service import Tools

HOST = Service(gcid="f" * 16, organization="Hosts", name="Service", visibility=Visibility.PUBLIC)
MYBIZ = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing")
ACME = Service(gcid="b" * 16, organization="TheAcmeCompany", name="Supply", visibility=Visibility.PUBLIC)
STRANGER = Service(gcid="c" * 16, organization="Stranger", name="Hidden")
PARTIES = (MYBIZ, ACME, STRANGER)


class UpperCase:
    """A transformer whose every stylesheet writes in capitals; one that says ``fail`` does."""

    def __init__(self) -> None:
        self.given: list[tuple[str, bytes, dict[str, str]]] = []

    async def check(self, stylesheet: str) -> None:
        if "fail" in stylesheet:
            raise Refused("stylesheet.invalid", "The stylesheet does not compile: line 1: fail")

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        self.given.append((stylesheet, document, dict(parameters)))
        if "fail" in stylesheet:
            raise Refused("transform.failed", "The transform failed")
        return document.upper()

    async def close(self) -> None: ...


class RememberedReferences:
    """Cross-references in a few dictionaries."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str, Key], CrossReferenceRecord] = {}
        self.relations: list[tuple[str, str, Key, Key]] = []
        self.causes: list[MapChangeCause] = []

    async def save(self, owner: str, name: str, records: Sequence[CrossReferenceRecord], cause: MapChangeCause) -> None:
        self.causes.append(cause)
        self.records |= {(owner, name, record.key): record for record in records}

    async def relate(self, owner: str, name: str, pairs: Sequence[tuple[Key, Key]], cause: MapChangeCause) -> None:
        self.causes.append(cause)
        for pair in pairs:
            self.relations.append((owner, name, *pair))
            for key in pair:
                self.records.setdefault((owner, name, key), CrossReferenceRecord(key))

    async def find_related(self, owner: str, name: str, keys: Sequence[Key]) -> Related:
        return [self._related(owner, name, key) for key in keys]

    def _related(self, owner: str, name: str, key: Key) -> list[CrossReferenceRecord]:
        reached = [key]
        for known in reached:
            for place, map_name, one, other in self.relations:
                for here, there in ((one, other), (other, one)):
                    if (place, map_name, here) == (owner, name, known) and there not in reached:
                        reached.append(there)
        return [self.records[owner, name, one] for one in reached if (owner, name, one) in self.records]


class RememberedTrust:
    """Notes what providers ask for; the token ``wrong`` is."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | Cookie | None, ...]] = []

    async def confirm(
        self, provider: Service, gcid: str, token: str, cookie: Cookie | None = None, *, said_in: str = ""
    ) -> None:
        if token == "wrong":
            raise Refused("provisioning.invalid", "No provisioning waits for this")
        self.asked.append(("confirm", provider.gcid, gcid, token, cookie))

    async def revoke(self, by: str, gcid: str, parties: Sequence[str], *, said_in: str = "") -> None:
        self.asked.append(("revoke", by, gcid, *parties))

    async def register_cookie(self, by: str, service: Service, sender: str, cookie: Cookie | None) -> None:
        self.asked.append(("cookie", by, service.gcid, sender, cookie))


class Agreeing:
    """An engine that says yes to every query but one that says ``fail``, which it does not compile."""

    async def check(self, query: str) -> None:
        if "fail" in query:
            raise Refused("query.invalid", "The query does not compile")

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        return [QueryVerdict(goes=True)] * len(queries)


def engines(transformer: Transformer) -> Engines:
    judges = {language: Agreeing() for language in DeciderLanguage}
    return Engines(transformer=transformer, judges=judges, validator=Strict())


class Strict:
    """A validator for which a schema or a document has a fault where it says ``fail``."""

    def __init__(self) -> None:
        self.judged_by: list[str] = []

    async def check(self, schema: Schema) -> None:
        if any("fail" in text for text in schema.texts.values()):
            raise Refused("schema.invalid", f"The schema {schema.name} cannot be used: line 1: fail", pointer="line 1")

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        self.judged_by.append(schema.name)
        quoted = "\0" if b"fail\\u0000" in document else ""
        return (DocumentFault(text=f"it says fail{quoted}", line=1, path="/a"),) if b"fail" in document else ()

    async def close(self) -> None: ...


class NoExchanges:
    async def load(self, gcid: str) -> OpenExchange:
        return OpenExchange()


class NoPartners:
    async def came_before(self, delivered: Delivered, forwards: Sequence[Forward]) -> list[Forward]:
        return []

    async def send(self, splitter: Service, delivered: Delivered, telling: AcknowledgmentToSend) -> None: ...

    async def record(
        self, splitter: Service, delivered: Delivered, hearings: Iterable[ReceivedAcknowledgments]
    ) -> None: ...


class NoModels:
    async def load(self, gcid: str) -> None:
        return None


def directory_with(host: Service, *assets: Asset) -> Directory:
    organizations = [Organization(name=service.organization) for service in (host, *PARTIES)]
    items = [*organizations, host, *PARTIES, *assets]
    return Directory().apply_changes(
        [ObjectChange(*object_key(item), 1, msgspec.to_builtins(item)) for item in items], 1
    )


def asset(kind: AssetKind, name: str, content: str) -> Asset:
    return Asset(service=HOST.gcid, kind=kind, name=name, content=content)


def tools(*assets: Asset, hosted: Hosting = Hosting.XSLT, operations: tuple[str, ...] = ()) -> Tools:
    host = replace(HOST, hosted=hosted, operations=operations)
    return Tools(
        service=host,
        directory=directory_with(host, *assets),
        transformer=UpperCase(),
        references=RememberedReferences(),
        trust=RememberedTrust(),
        exchanges=NoExchanges(),
        models=NoModels(),
        partners=NoPartners(),
        judges={},
        now_us=lambda: 0,
        validator=Strict(),
    )


def document(data: str | bytes, id: str = "1", content_type: str = "application/xml", attachment: bool = False) -> Part:
    content = data.encode() if isinstance(data, str) else data
    return Part(id=id, content_type=content_type, data=content, attachment=attachment)


NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})


def delivered(
    *parts: Part,
    sender: Service = MYBIZ,
    invoker: Service | None = None,
    type: MessageType = MessageType.REQUEST,
    in_transit: bool = True,
    transaction: str = "t1",
    status: Status | None = None,
    properties: tuple[Property, ...] = (),
    arguments: Mapping[str, str] = NO_ARGUMENTS,
) -> Delivered:
    """A message as the hosted service gets it."""
    return Delivered(
        session="s1", token="token", transaction=transaction, sender=sender.address, sender_gcid=sender.gcid,
        recipient=HOST.address, recipient_gcid=HOST.gcid, type=type, topic="orders", handle="",
        arguments=tuple(Argument(name, value) for name, value in arguments.items()),
        reference=AnsweredMessage("s0") if type is MessageType.RESPONSE else None,
        invoker=(invoker or sender).address, status=status, properties=properties, posted_at_us=1, expires_at_us=2,
        attempt=1, in_transit=in_transit, parts=parts,
    )  # fmt: skip
