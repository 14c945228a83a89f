"""Batches as their owners see them: state, criteria, members and interchange.

Rules: members of the batcher's organization, the batcher itself and operators may see its batches; for everyone else
they do not exist. Every batch shows why it has not been sent. The actions on batches are in ``batch_actions``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from msgspec.msgpack import Decoder

from postroad.core.audit.history.batch_changes import list_batch_changes
from postroad.core.batching.close_criteria import BatchDue, find_due, list_criteria
from postroad.core.codecs.lexical import write_time
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import Port
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Service
from postroad.core.model.ids import BATCH
from postroad.core.projection.delivery_rows import COLUMN, found_from_row
from postroad.core.projection.queries import JOURNEY
from postroad.core.resources.batches import BatchChangeView, SendingView
from postroad.core.visibility.batch_membership import KnownBatch
from postroad.core.visibility.redact_batch_member import BatchMemberRedactor, RedactedMember
from postroad.core.visibility.viewer import Viewer
from postroad.flow.administration.base import find_visible_service, not_found
from postroad.flow.administration.services import list_owned_services
from postroad.flow.network import Network
from postroad.flow.registries.batch_history import decode_batch_row, load_batch_changes, load_known_batch

PORTION = 200
MAX_SCAN = 4_000  # batches looked at for one page, however few of them fit
NEWEST = "~"  # behind every id
EVERY_STATE = "all"
SETTLED = tuple(state for state, moves in BATCH_MOVES.items() if not moves)
NO_BATCHER = BatchDue(None, "its service is no longer a batcher; make it one again, or drop the batch")

JOURNEY_AT = JOURNEY.index("at_number")
JOURNEY_END = (JOURNEY.index("state"), JOURNEY.index("reason"))

_members = Decoder(BatchMember)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSearch:
    """A filter for batches, with the page position."""

    service: str = ""  # GCID or address; empty: of all services that are the caller's
    state: str = ""  # one of BatchState, or ``all``; empty: those that are still to be sent
    before: str = NEWEST
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBatch:
    """A batch with its batcher's current settings and what it waits for."""

    batch: Batch
    service: Service | None
    due: BatchDue


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchList:
    """One page of batches."""

    found: list[ListedBatch]
    next_before: str | None  # where the next page begins; None at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """A batch with everything known of it except its members."""

    seen: ListedBatch
    known: KnownBatch
    criteria: tuple[BatchDue, ...]  # what each of them says, while it is open
    sending: SendingView | None
    changes: list[BatchChangeView]  # the latest, oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMemberList:
    """One page of a batch's members."""

    members: list[RedactedMember]
    next_after: int | None


async def browse(network: Network, caller: Caller, wish: BatchSearch) -> BatchList:
    """Return one page of batches, newest first."""
    await network.wait_until_indexed()
    found: list[ListedBatch] = []
    before, scanned = wish.before, 0
    async for batch in _batches(network, caller, wish):
        before, scanned = batch.id, scanned + 1
        if wish.state in ("", EVERY_STATE, batch.state.value):
            found.append(await _seen(network, batch))
        if len(found) == wish.limit or scanned == MAX_SCAN:
            return BatchList(found=found, next_before=before)
    return BatchList(found=found, next_before=None)


async def show(network: Network, caller: Caller, batch_id: str) -> BatchReport:
    """Return one batch with everything known of it except its members."""
    known = await _known(network, caller, batch_id)
    seen = await _seen(network, known.batch)
    criteria: tuple[BatchDue, ...] = ()
    if known.batch.state is BatchState.OPEN and seen.service is not None and seen.service.batching is not None:
        criteria = list_criteria(seen.service.batching.policy, build_port(network, seen.service), known.batch)
    return BatchReport(
        seen=seen,
        known=known,
        criteria=criteria,
        sending=await _sending(network, known.batch),
        changes=await _changes(network, known.batch),
    )


async def list_batch_members(
    network: Network, caller: Caller, batch_id: str, after: int, limit: int
) -> BatchMemberList:
    """Return one page of all messages that ever joined a batch, in order of arrival."""
    known = await _known(network, caller, batch_id)
    redactor = BatchMemberRedactor(Viewer.of_caller(caller, network.directory), network.tokens.pseudonyms, known)
    rows = await network.index.query("batch_members", batch_id, after, limit + 1)
    found = [_member(network, redactor, row) for row in rows[:limit]]
    return BatchMemberList(members=found, next_after=found[-1].number if len(rows) > limit else None)


async def find_visible_batch(network: Network, caller: Caller, batch_id: str) -> Batch:
    """Return the current batch if the caller may know of it; raises Refused otherwise."""
    return (await _known(network, caller, batch_id)).batch


def build_port(network: Network, service: Service) -> Port:
    """Return the send port of a service for the batching rules."""
    return network.standards.port_of(service)


async def _known(network: Network, caller: Caller, batch_id: str) -> KnownBatch:
    await network.wait_until_indexed()
    known = await load_known_batch(network.index, batch_id) if BATCH.match(batch_id) else None
    if known is None or not Viewer.of_caller(caller, network.directory).owns(known.batch.service):
        raise not_found()
    return known


async def _batches(network: Network, caller: Caller, wish: BatchSearch) -> AsyncIterator[Batch]:
    """Yield batches that may match and that the caller may see, newest first, from the page's start."""
    services = await _services(network, caller, wish)
    if wish.state not in (EVERY_STATE, *SETTLED):
        for batch in await _unsettled(network, services, wish.before):
            yield batch
        return
    before = wish.before
    while rows := await _portion(network, caller, wish, services, before):
        for batch in rows:
            before = batch.id
            yield batch


async def _services(network: Network, caller: Caller, wish: BatchSearch) -> list[str]:
    """Return the GCIDs of the services to search; for operators all that have unsettled batches."""
    directory = network.directory
    if wish.service:
        service = find_visible_service(caller, directory, wish.service)
        if not Viewer.of_caller(caller, directory).owns(service.gcid):
            raise not_found()
        return [service.gcid]
    if caller.service is not None:
        return [caller.service.gcid]
    if caller.operator:
        return [gcid for (gcid,) in await network.index.query("gathering_services")]
    return [service.gcid for service in list_owned_services(caller, directory)]


async def _unsettled(network: Network, services: list[str], before: str) -> list[Batch]:
    rows = [row for gcid in services for row in await network.index.query("unsettled_batches", gcid)]
    found = [decode_batch_row(row) for row in rows]
    return sorted((one for one in found if one.id < before), key=lambda batch: batch.id, reverse=True)


async def _portion(
    network: Network, caller: Caller, wish: BatchSearch, services: list[str], before: str
) -> list[Batch]:
    if caller.operator and not wish.service:
        rows = await network.index.query("all_batches", before, PORTION)
    else:
        rows = [row for gcid in services for row in await network.index.query("batches_at", gcid, before, PORTION)]
    return sorted(map(decode_batch_row, rows), key=lambda batch: batch.id, reverse=True)[:PORTION]


async def _seen(network: Network, batch: Batch) -> ListedBatch:
    service = network.directory.services.get(batch.service)
    return ListedBatch(batch=batch, service=service, due=await _due(network, service, batch))


async def _due(network: Network, service: Service | None, batch: Batch) -> BatchDue:
    """Return what the batch waits for; for a complete one also the batch that must be sent first."""
    if service is None or service.batching is None:
        return NO_BATCHER if batch.state in (BatchState.OPEN, BatchState.CLOSED) else _of_itself(batch)
    if service.batching.ordered and batch.state is BatchState.CLOSED and not batch.held:
        first = await _first_before(network, batch)
        if first is not None:
            return BatchDue(None, f"it is complete; batch {first.id}, which is {first.state.value}, is sent before it")
    return find_due(service.batching.policy, build_port(network, service), batch)


async def _first_before(network: Network, batch: Batch) -> Batch | None:
    """Return the first batch that was complete earlier and is not sent yet."""
    rows = await network.index.query("unsettled_batches", batch.service)
    complete = [one for one in map(decode_batch_row, rows) if one.state is not BatchState.OPEN]
    first = min(complete, key=_completed, default=batch)
    return first if _completed(first) < _completed(batch) else None


def _completed(batch: Batch) -> tuple[int, str]:
    return batch.closed_at_us, batch.id


def _of_itself(batch: Batch) -> BatchDue:
    told = f": {batch.why}; resume or drop it" if batch.state is BatchState.SUSPENDED else ""
    return BatchDue(None, f"it is {batch.state.value}{told}")


async def _sending(network: Network, batch: Batch) -> SendingView | None:
    """Return the current status of the interchange, also where it passes through other services."""
    if not batch.delivery or not batch.interchange:
        return None
    journeys = await network.index.query("journey", batch.delivery)
    number = journeys[0][JOURNEY_AT] if journeys else batch.delivery
    [row] = await network.index.query("delivery", number)
    state, reason = (journeys[0][place] for place in JOURNEY_END) if journeys else (row[COLUMN["state"]], "")
    available_at_us, expires_at_us = row[COLUMN["available_at_us"]], row[COLUMN["expires_at_us"]]
    waits = DeliveryState(state) is DeliveryState.QUEUED and available_at_us > network.clock.now_us()
    return SendingView(
        recipient=network.directory.address_of(row[COLUMN["recipient"]]),
        delivery=number,
        state=DeliveryState(state).name.lower(),
        attempts=row[COLUMN["attempts"]],
        next_at=write_time(available_at_us) if waits else None,
        expires_at=write_time(expires_at_us) if expires_at_us else None,
        reason=reason or row[COLUMN["reason"]],
    )


async def _changes(network: Network, batch: Batch) -> list[BatchChangeView]:
    entries = await load_batch_changes(network.index, network.journal, batch)
    return list_batch_changes(batch.id, entries, network.directory)


def _member(network: Network, redactor: BatchMemberRedactor, row: tuple[Any, ...]) -> RedactedMember:
    facts, delivery = _members.decode(row[0]), row[1:]
    found = found_from_row(delivery, now=network.clock.monotonic(), now_us=network.clock.now_us())
    return redactor.member(facts, found, delivery[COLUMN["queued_at_us"]])
