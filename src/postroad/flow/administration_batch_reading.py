"""Batches for those whose batchers gather them: which there are, what each waits for, what is in it and what became of it.

Kept rules: everybody of the batcher's organization may look, so may the batcher itself and operators; for all others there is
nothing. Every batch says why it has not gone. Steering them is in ``administration_batches``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from msgspec.msgpack import Decoder

from postroad.core.audit.batch_changes import changes_told
from postroad.core.audit.batch_members import Member, MemberSight
from postroad.core.audit.batches import KnownBatch
from postroad.core.audit.story import BatchChange
from postroad.core.batching.due import Due, due, readings
from postroad.core.delivery.waiting import COLUMN, found_from_row
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import Port
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import State
from postroad.core.model.directory import Service
from postroad.core.model.ids import BATCH
from postroad.core.projection.queries import JOURNEY
from postroad.flow.administration import not_found, visible_service
from postroad.flow.administration_contents import is_mine
from postroad.flow.administration_services import owned_services
from postroad.flow.batch_histories import batch_from_row, changes_of, known_batch
from postroad.flow.network import Network

PORTION = 200
SCAN_MOST = 4_000  # batches looked at for one page, however few of them fit
NEWEST = "~"  # behind every id
EVERY_STATE = "all"
SETTLED = tuple(state for state, moves in BATCH_MOVES.items() if not moves)
NO_BATCHER = Due(None, "its service gathers no messages any more; make it a batcher again, or drop the batch")

JOURNEY_AT = JOURNEY.index("at_number")
JOURNEY_END = (JOURNEY.index("state"), JOURNEY.index("reason"))

_members = Decoder(BatchMember)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which batches somebody wants to see."""

    service: str = ""  # GCID or address; empty: of all services that are the caller's
    state: str = ""  # one of BatchState, or ``all``; empty: those that are still to be sent
    before: str = NEWEST
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBatch:
    """A batch, its batcher as it is set up now, and what it waits for."""

    batch: Batch
    service: Service | None
    due: Due


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    found: list[SeenBatch]
    next_before: str | None  # where the next page begins; None at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Where the interchange of a batch is."""

    recipient: str  # address
    delivery: int
    state: str
    attempts: int
    next_at_us: int  # when it is tried again; 0: now, or never
    expires_at_us: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBatch:
    seen: SeenBatch
    known: KnownBatch
    criteria: tuple[Due, ...]  # what each of them says, while it is open
    sending: Sending | None
    changes: list[BatchChange]  # the latest, oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPage:
    members: list[Member]
    next_after: int | None


async def browse(network: Network, caller: Caller, wish: Wish) -> Page:
    """One page of batches, newest first."""
    await network.indexed()
    found: list[SeenBatch] = []
    before, scanned = wish.before, 0
    async for batch in _batches(network, caller, wish):
        before, scanned = batch.id, scanned + 1
        if wish.state in ("", EVERY_STATE, batch.state.value):
            found.append(await _seen(network, batch))
        if len(found) == wish.limit or scanned == SCAN_MOST:
            return Page(found=found, next_before=before)
    return Page(found=found, next_before=None)


async def show(network: Network, caller: Caller, batch_id: str) -> ShownBatch:
    """One batch with all that is known of it, but for its members."""
    known = await _known(network, caller, batch_id)
    seen = await _seen(network, known.batch)
    criteria: tuple[Due, ...] = ()
    if known.batch.state is BatchState.OPEN and seen.service is not None and seen.service.batching is not None:
        criteria = readings(seen.service.batching.policy, port_of(network, seen.service), known.batch)
    return ShownBatch(
        seen=seen,
        known=known,
        criteria=criteria,
        sending=await _sending(network, known.batch),
        changes=await _changes(network, known.batch),
    )


async def members(network: Network, caller: Caller, batch_id: str, after: int, limit: int) -> MemberPage:
    """One page of all that ever joined a batch, in the order of arrival."""
    known = await _known(network, caller, batch_id)
    owns = None if caller.operator else is_mine(caller, network.directory)
    sight = MemberSight(network.directory, network.tokens.veil, owns, known)
    rows = await network.index.query("batch_members", batch_id, after, limit + 1)
    found = [_member(network, sight, row) for row in rows[:limit]]
    return MemberPage(members=found, next_after=found[-1].number if len(rows) > limit else None)


async def visible_batch(network: Network, caller: Caller, batch_id: str) -> Batch:
    """The batch as it is now, when the caller may know that it exists."""
    return (await _known(network, caller, batch_id)).batch


def port_of(network: Network, service: Service) -> Port:
    return network.standards.port_of(service)


async def _known(network: Network, caller: Caller, batch_id: str) -> KnownBatch:
    await network.indexed()
    known = await known_batch(network.index, batch_id) if BATCH.match(batch_id) else None
    if known is None or not (caller.operator or is_mine(caller, network.directory)(known.batch.service)):
        raise not_found()
    return known


async def _batches(network: Network, caller: Caller, wish: Wish) -> AsyncIterator[Batch]:
    """Every batch that may fit and is the caller's to see, newest first, from where the page begins."""
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


async def _services(network: Network, caller: Caller, wish: Wish) -> list[str]:
    """GCIDs of the services whose batches are wanted; for operators all that have some to send, whatever they are now."""
    directory = network.directory
    if wish.service:
        service = visible_service(caller, directory, wish.service)
        if not (caller.operator or is_mine(caller, directory)(service.gcid)):
            raise not_found()
        return [service.gcid]
    if caller.service is not None:
        return [caller.service.gcid]
    if caller.operator:
        return [gcid for (gcid,) in await network.index.query("gathering_services")]
    return [service.gcid for service in owned_services(caller, directory)]


async def _unsettled(network: Network, services: list[str], before: str) -> list[Batch]:
    rows = [row for gcid in services for row in await network.index.query("unsettled_batches", gcid)]
    found = [batch_from_row(row) for row in rows]
    return sorted((one for one in found if one.id < before), key=lambda batch: batch.id, reverse=True)


async def _portion(network: Network, caller: Caller, wish: Wish, services: list[str], before: str) -> list[Batch]:
    if caller.operator and not wish.service:
        rows = await network.index.query("all_batches", before, PORTION)
    else:
        rows = [row for gcid in services for row in await network.index.query("batches_at", gcid, before, PORTION)]
    return sorted(map(batch_from_row, rows), key=lambda batch: batch.id, reverse=True)[:PORTION]


async def _seen(network: Network, batch: Batch) -> SeenBatch:
    service = network.directory.services.get(batch.service)
    return SeenBatch(batch=batch, service=service, due=await _due(network, service, batch))


async def _due(network: Network, service: Service | None, batch: Batch) -> Due:
    """What it waits for; of one that is complete also which other has to be sent before it."""
    if service is None or service.batching is None:
        return NO_BATCHER if batch.state in (BatchState.OPEN, BatchState.CLOSED) else _of_itself(batch)
    if service.batching.ordered and batch.state is BatchState.CLOSED and not batch.held:
        first = await _first_before(network, batch)
        if first is not None:
            return Due(None, f"it is complete; batch {first.id}, which is {first.state.value}, goes before it")
    return due(service.batching.policy, port_of(network, service), batch)


async def _first_before(network: Network, batch: Batch) -> Batch | None:
    """The first of those that were complete before it and are still to be sent."""
    rows = await network.index.query("unsettled_batches", batch.service)
    complete = [one for one in map(batch_from_row, rows) if one.state is not BatchState.OPEN]
    first = min(complete, key=_completed, default=batch)
    return first if _completed(first) < _completed(batch) else None


def _completed(batch: Batch) -> tuple[int, str]:
    return batch.closed_at_us, batch.id


def _of_itself(batch: Batch) -> Due:
    told = f": {batch.why}; resume or drop it" if batch.state is BatchState.SUSPENDED else ""
    return Due(None, f"it is {batch.state.value}{told}")


async def _sending(network: Network, batch: Batch) -> Sending | None:
    """Where the interchange is: further on than where it began, where its receiver's rules have it pass others."""
    if not batch.delivery or not batch.interchange:
        return None
    journeys = await network.index.query("journey", batch.delivery)
    number = journeys[0][JOURNEY_AT] if journeys else batch.delivery
    [row] = await network.index.query("delivery", number)
    state, reason = (journeys[0][place] for place in JOURNEY_END) if journeys else (row[COLUMN["state"]], "")
    available_at_us = row[COLUMN["available_at_us"]]
    waits = State(state) is State.QUEUED and available_at_us > network.clock.now_us()
    service = network.directory.services.get(row[COLUMN["recipient"]])
    return Sending(
        recipient=service.address if service is not None else row[COLUMN["recipient"]],
        delivery=number,
        state=State(state).name.lower(),
        attempts=row[COLUMN["attempts"]],
        next_at_us=available_at_us if waits else 0,
        expires_at_us=row[COLUMN["expires_at_us"]],
        reason=reason or row[COLUMN["reason"]],
    )


async def _changes(network: Network, batch: Batch) -> list[BatchChange]:
    entries = await changes_of(network.index, network.journal, batch)
    return changes_told(batch.id, entries, network.directory)


def _member(network: Network, sight: MemberSight, row: tuple[Any, ...]) -> Member:
    facts, delivery = _members.decode(row[0]), row[1:]
    found = found_from_row(delivery, now=network.clock.monotonic(), now_us=network.clock.now_us())
    return sight.member(facts, found, delivery[COLUMN["queued_at_us"]])
