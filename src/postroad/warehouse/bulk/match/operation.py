"""The match operation: one row per message and binding of an exchange that matches or fails; with counts.

Rules: bindings are evaluated as on a delivery, so the results are the same. A message is matched as if it had been
sent to the exchange. The journal contains forwards of an exchange as well as their originals, so a forward counts
only if it was sent to this exchange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from postroad.core.admission.connection_rights import is_open_to
from postroad.core.delivery.reasons import DETAIL
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import NOT_OPEN
from postroad.errors import Misconfigured
from postroad.services.exchange.binding_matches import BindingMatch, choose_content
from postroad.services.exchange.callables import Routing
from postroad.warehouse.bulk.match.engines import MatchedExchange, TaskEngines
from postroad.warehouse.bulk.match.open_exchanges import open_exchange
from postroad.warehouse.bulk.operation import ResultRow, Work
from postroad.warehouse.bulk.output import PARQUET, location
from postroad.warehouse.bulk.read.archive import ArchivedMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "binding.failed"
CLOSED_CODE, CLOSED_DETAIL = NOT_OPEN.code, NOT_OPEN.value(DETAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOperation:
    """The operation ``match``."""

    exchange: str  # GCID or address
    sent_to_it: bool = False  # only messages that name the exchange
    routings: Mapping[str, Routing] = field(default_factory=dict)  # the operator's, by name
    name: ClassVar[str] = "match"
    columns: ClassVar[Sequence[pa.Field]] = (
        pa.field("binding", pa.string()),
        pa.field("queue", pa.string()),  # GCID
        pa.field("queue_address", pa.string()),
        pa.field("media_type", pa.string()),  # of what goes in the content's place; null where it goes as it came
        pa.field("content", pa.binary()),
    )

    def prepare(self, directory: Directory) -> Work:
        service = find_exchange(self.exchange, directory)
        bound = open_exchange(service.gcid, directory, frozenset(self.routings))
        return MatchWork(self, MatchedExchange(service, directory, bound))


class MatchWork:
    """The match work under one directory; its engines are started on first use."""

    def __init__(self, operation: MatchOperation, exchange: MatchedExchange) -> None:
        self._sent_to_it = operation.sent_to_it
        self._exchange = exchange
        self._directory = exchange.directory
        self._judges = TaskEngines(operation.routings)

    def __call__(self, archived: ArchivedMessage) -> list[ResultRow]:
        if (self._sent_to_it or archived.forwarded) and not self._is_sent_here(archived):
            return []
        content, items = choose_content(archived.message.parts), typed_header_items(archived, self._directory)
        return [self._done(match) for match in self._judges.matches(self._exchange, content, items)]

    def end(self) -> None:
        self._judges.end()

    def _is_sent_here(self, archived: ArchivedMessage) -> bool:
        named = (*archived.message.to, *archived.message.route)
        return any(self._directory.service(one.service) is self._exchange.service for one in named)

    def _done(self, match: BindingMatch) -> ResultRow:
        binding, part = match.binding, match.part
        queue = self._directory.services.get(binding.queue)
        made = (part.content_type, part.data) if part is not None else (None, None)
        values = (binding.name, binding.queue, queue.address if queue is not None else None, *made)
        if match.error:
            return ResultRow(values, FAILED, match.error)
        is_open = queue is not None and is_open_to(self._exchange.service, queue, self._directory)
        return ResultRow(values) if is_open else ResultRow(values, CLOSED_CODE, CLOSED_DETAIL)


def find_exchange(name: str, directory: Directory) -> Service:
    service = directory.service(name)
    if service is None:
        raise Misconfigured([f"service {name} does not exist in this configuration; use --exchange with an exchange"])
    if service.hosted is not Hosting.EXCHANGE:
        raise Misconfigured([f"{name} is not an exchange; its profile has no `hosted: exchange`"])
    return service


def typed_header_items(archived: ArchivedMessage, directory: Directory) -> dict[str, TypedItem]:
    """Return the header's items as the exchange receives them."""
    message = archived.message
    return header_items(
        message.properties,
        topic=message.topic,
        sender=directory.address_named(archived.shown_sender or archived.sender),
        type=message.type.value,
        handle=message.handle,
    )


MAX_BINDINGS = 1_000


def count_by_binding(spark: SparkSession, folder: str) -> list[dict[str, Any]]:
    """Grain: one row per binding that said yes or failed; those with most matches first, at most a thousand."""
    from pyspark.sql import functions as f

    rows = spark.read.parquet(f"{location(folder)}/{PARQUET}").where("binding is not null")
    yes = f.sum(f.when(f.col("code") == "", 1).otherwise(0)).alias("matches")
    errors = f.sum(f.when(f.col("code") == "", 0).otherwise(1)).alias("errors")
    counted = rows.groupBy("binding", "queue_address").agg(yes, errors)
    ordered = counted.orderBy(f.col("matches").desc(), f.col("errors").desc(), "binding").limit(MAX_BINDINGS)
    return [
        {"binding": row["binding"], "queue": row["queue_address"], "matches": row["matches"], "errors": row["errors"]}
        for row in ordered.collect()
    ]
