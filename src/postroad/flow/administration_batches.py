"""Steering batches on somebody's behalf: let them go, hold them back, take a member out, resume or drop them.

Kept rules: developers of the batcher's organization may; every step says who took it and why. Somebody who looked at an older
version is told so. A batch whose service gathers no more can still be dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.batching import moves
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.errors import Refused
from postroad.flow.administration import denied, not_found
from postroad.flow.administration_batch_reading import visible_batch
from postroad.flow.batch_resuming import Resuming
from postroad.flow.network import Network

REASON_MOST = 500
TRIES = 10

Step = Callable[[Batch], Awaitable[Batch | None]]  # the batch as it is then; None: somebody was quicker


async def release(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Close it now, and let it go if it was held back."""

    async def step(batch: Batch) -> Batch | None:
        now_us = network.clock.now_us()
        return await _changed(network, caller, "closed", moves.released(batch, now_us, caller.name), reason)

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def hold(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Keep it from being assembled; it gathers and is closed as ever."""

    async def step(batch: Batch) -> Batch | None:
        return await _changed(network, caller, "held", moves.held(batch, network.clock.now_us()), reason)

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def let_go(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Hold it back no longer."""

    async def step(batch: Batch) -> Batch | None:
        return await _changed(network, caller, "let go", moves.let_go(batch, network.clock.now_us()), reason)

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def resume(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Let a suspended one go on: the same bytes again where there are any, else assembled anew."""

    async def step(batch: Batch) -> Batch | None:
        return await Resuming(network).resume(batch, caller.name, reason[:REASON_MOST])

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def drop(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Give a suspended one up: its members become dead letters, which can be resent one by one."""

    async def step(batch: Batch) -> Batch | None:
        _check_droppable(network, batch)
        batch = _suspended_with_its_port(network, batch)
        why = f"{caller.name} dropped it: {reason}"[:REASON_MOST]
        after = moves.dropped(batch, why, network.clock.now_us())
        members = await network.batches.gathered(batch)
        return await network.batches.end(
            caller.name, "failed", f"batch {batch.id} dropped: {reason}"[:REASON_MOST], after, members
        )

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def take_out(
    network: Network, caller: Caller, batch_id: str, delivery: int, reason: str, seen_version: int | None
) -> Batch:
    """Let one member fail alone: a dead letter, resent or dropped as any other."""

    async def step(batch: Batch) -> Batch | None:
        member = await network.batches.member(batch.id, delivery)
        if member is None:
            raise not_found()
        if batch.count == 1:
            _check_droppable(network, batch)
        after = moves.left(batch, member.member, network.clock.now_us())
        why = f"taken out of batch {batch.id}: {reason}"[:REASON_MOST]
        return await network.batches.end(caller.name, "failed", why, after, [member.gathered])

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def _carried_out(network: Network, caller: Caller, batch_id: str, seen_version: int | None, step: Step) -> Batch:
    for _ in range(TRIES):
        batch = await visible_batch(network, caller, batch_id)
        _check_may_steer(network, caller, batch)
        if seen_version not in (None, batch.version):
            break
        after = await step(batch)
        if after is not None:
            network.batches.changed(after.service)
            return after
    raise Refused("version.conflict", "The batch has changed meanwhile; look at it again, and repeat what you want")


async def _changed(network: Network, caller: Caller, what: str, after: Batch, reason: str) -> Batch | None:
    written = await network.batches.write(caller.name, what, [after], reason=reason[:REASON_MOST])
    return written[0] if written is not None else None


def _check_may_steer(network: Network, caller: Caller, batch: Batch) -> None:
    service = network.directory.services.get(batch.service)
    organization = caller.organization if service is None else service.organization
    if not caller.has_role(organization, Role.DEVELOPER):
        raise denied("Only a person with the role developer in the batcher's organization may do this")


def _suspended_with_its_port(network: Network, batch: Batch) -> Batch:
    """A batch that nobody gathers or assembles any more waits for somebody, as a suspended one does."""
    service = network.directory.services.get(batch.service)
    is_left = service is None or service.batching is None
    if not is_left or batch.state not in (BatchState.OPEN, BatchState.CLOSED):
        return batch
    return moves.suspended(batch, "its service gathers no messages any more", network.clock.now_us())


def _check_droppable(network: Network, batch: Batch) -> None:
    service = network.directory.services.get(batch.service)
    is_gap_free = service is not None and service.batching is not None and service.batching.gap_free
    if is_gap_free and batch.numbered:
        raise Refused(
            "batch.state",
            f"batch {batch.id} has drawn its control numbers, and its port leaves no gaps between them; resume it, "
            "or take members out",
        )
