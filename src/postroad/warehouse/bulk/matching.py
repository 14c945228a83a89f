"""The lane that matches: one row for each message and binding of an exchange that says yes, or fails.

Kept rules: bindings are asked as the exchange itself asks them on a delivery, so they give the same answers. A message is matched
as if it had been sent to the exchange; what an exchange has forwarded is a copy of a message that is in the journal as well, so
it counts only where it was forwarded to this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from postroad.core.admission.openness import is_open_to
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forwards import NOT_OPEN
from postroad.errors import Misconfigured
from postroad.services.callables import Routing
from postroad.services.matching import Match, content_of
from postroad.warehouse.bulk.archived import Archived
from postroad.warehouse.bulk.lane import Done, Work
from postroad.warehouse.bulk.matching_judges import Exchange, TaskJudges
from postroad.warehouse.bulk.opened_exchanges import opened_exchange

FAILED = "binding.failed"
CLOSED_CODE, _, CLOSED_DETAIL = NOT_OPEN.partition(": ")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchLane:
    """The lane ``match``."""

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
        service = exchange_named(self.exchange, directory)
        bound = opened_exchange(service.gcid, directory, frozenset(self.routings))
        return Matching(self, Exchange(service, directory, bound))


class Matching:
    """The lane's work under one directory; its engines are started when they are first needed."""

    def __init__(self, lane: MatchLane, exchange: Exchange) -> None:
        self._sent_to_it = lane.sent_to_it
        self._exchange = exchange
        self._directory = exchange.directory
        self._judges = TaskJudges(lane.routings)

    def __call__(self, archived: Archived) -> list[Done]:
        if (self._sent_to_it or archived.forwarded) and not self._is_sent_here(archived):
            return []
        content, items = content_of(archived.message.parts), items_of(archived, self._directory)
        return [self._done(match) for match in self._judges.matches(self._exchange, content, items)]

    def end(self) -> None:
        self._judges.end()

    def _is_sent_here(self, archived: Archived) -> bool:
        named = (*archived.message.to, *archived.message.route)
        return any(self._directory.service(one.service) is self._exchange.service for one in named)

    def _done(self, match: Match) -> Done:
        binding, part = match.binding, match.part
        queue = self._directory.services.get(binding.queue)
        made = (part.content_type, part.data) if part is not None else (None, None)
        values = (binding.name, binding.queue, queue.address if queue is not None else None, *made)
        if match.error:
            return Done(values, FAILED, match.error)
        is_open = queue is not None and is_open_to(self._exchange.service, queue, self._directory)
        return Done(values) if is_open else Done(values, CLOSED_CODE, CLOSED_DETAIL)


def exchange_named(name: str, directory: Directory) -> Service:
    service = directory.service(name)
    if service is None:
        raise Misconfigured([f"there is no service {name} in this configuration; name an exchange with --exchange"])
    if service.hosted is not Hosting.EXCHANGE:
        raise Misconfigured([f"{name} is not an exchange; its profile has no `hosted: exchange`"])
    return service


def items_of(archived: Archived, directory: Directory) -> dict[str, TypedItem]:
    """The header's items as the exchange would be given them."""
    message = archived.message
    sender = archived.shown_sender or archived.sender
    known = directory.service(sender)
    return header_items(
        message.properties,
        topic=message.topic,
        sender=known.address if known is not None else sender,
        type=message.type.value,
        handle=message.handle,
    )
