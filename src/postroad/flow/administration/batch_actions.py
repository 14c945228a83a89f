"""Actions on batches: release, pause, resume, drop, or remove a member.

Rules: developers of the batcher's organization may act on its batches. Every action records who took it and why. An
action on an outdated version of a batch is refused. A batch whose service is no longer a batcher can still be
dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.batching import moves
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchState
from postroad.core.model.batch_actions import BatchAction
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.errors import Refused
from postroad.flow.administration.base import not_found, permission_denied
from postroad.flow.administration.batches import find_visible_batch
from postroad.flow.batching.resume import BatchResumption
from postroad.flow.network import Network

MAX_REASON = 500
TRIES = 10

BatchStep = Callable[[Batch], Awaitable[Batch | None]]  # the changed batch; None on a version conflict


async def act(
    network: Network,
    caller: Caller,
    action: BatchAction,
    batch_id: str,
    *,
    reason: str,
    seen_version: int | None = None,
    delivery: int = 0,
) -> Batch:
    """Carry out an action of ``BATCH_ACTIONS``; ``delivery`` is the number of the member that it is about."""
    if action.of_member:
        return await remove_member(network, caller, batch_id, delivery, reason, seen_version)
    return await STEPS[action.name](network, caller, batch_id, reason, seen_version)


async def release(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Close the batch now, and resume it if it was paused."""

    async def step(batch: Batch) -> Batch | None:
        now_us = network.clock.now_us()
        return await _changed(network, caller, "closed", moves.release_batch(batch, now_us, caller.name), reason)

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def pause(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Pause the batch: it gathers and closes as usual but is not assembled."""

    async def step(batch: Batch) -> Batch | None:
        return await _changed(network, caller, "held", moves.pause_batch(batch, network.clock.now_us()), reason)

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def resume(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Resume a paused or suspended batch; a suspended one that has bytes is sent again with them, else assembled again."""

    async def step(batch: Batch) -> Batch | None:
        if "let go" in BATCH_MOVES[batch.state]:
            return await _changed(network, caller, "let go", moves.unpause_batch(batch, network.clock.now_us()), reason)
        return await BatchResumption(network).resume(batch, caller.name, reason[:MAX_REASON])

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def drop(network: Network, caller: Caller, batch_id: str, reason: str, seen_version: int | None) -> Batch:
    """Drop a suspended batch: its members become dead letters, which can be resent one by one."""

    async def step(batch: Batch) -> Batch | None:
        _check_droppable(network, batch)
        batch = _suspended_with_its_port(network, batch)
        why = f"{caller.name} dropped it: {reason}"[:MAX_REASON]
        after = moves.drop_batch(batch, why, network.clock.now_us())
        members = await network.batches.list_gathered(batch)
        return await network.batches.end(
            caller.name, "failed", make_reason("batch.dropped", batch=batch.id, detail=reason), after, members
        )

    return await _carried_out(network, caller, batch_id, seen_version, step)


STEPS = {"release": release, "pause": pause, "resume": resume, "drop": drop}


async def remove_member(
    network: Network, caller: Caller, batch_id: str, delivery: int, reason: str, seen_version: int | None
) -> Batch:
    """Fail one member; it becomes a dead letter."""

    async def step(batch: Batch) -> Batch | None:
        member = await network.batches.member(batch.id, delivery)
        if member is None:
            raise not_found()
        if batch.count == 1:
            _check_droppable(network, batch)
        after = moves.remove_member(batch, member.member, network.clock.now_us())
        why = make_reason("batch.taken-out", batch=batch.id, detail=reason)
        return await network.batches.end(caller.name, "failed", why, after, [member.gathered])

    return await _carried_out(network, caller, batch_id, seen_version, step)


async def _carried_out(
    network: Network, caller: Caller, batch_id: str, seen_version: int | None, step: BatchStep
) -> Batch:
    for _ in range(TRIES):
        batch = await find_visible_batch(network, caller, batch_id)
        _check_may_steer(network, caller, batch)
        if seen_version not in (None, batch.version):
            break
        after = await step(batch)
        if after is not None:
            network.batches.note_change(after.service)
            return after
    raise Refused("version.conflict", "The batch has changed in the meantime; reload it, and repeat the action")


async def _changed(network: Network, caller: Caller, what: str, after: Batch, reason: str) -> Batch | None:
    written = await network.batches.write(caller.name, what, [after], reason=reason[:MAX_REASON])
    return written[0] if written is not None else None


def _check_may_steer(network: Network, caller: Caller, batch: Batch) -> None:
    service = network.directory.services.get(batch.service)
    organization = caller.organization if service is None else service.organization
    if not caller.has_role(organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer in the batcher's organization may do this")


def _suspended_with_its_port(network: Network, batch: Batch) -> Batch:
    """Return the batch as suspended if its service no longer gathers messages."""
    service = network.directory.services.get(batch.service)
    is_left = service is None or service.batching is None
    if not is_left or batch.state not in (BatchState.OPEN, BatchState.CLOSED):
        return batch
    return moves.suspend_batch(batch, "its service is no longer a batcher", network.clock.now_us())


def _check_droppable(network: Network, batch: Batch) -> None:
    service = network.directory.services.get(batch.service)
    is_gap_free = service is not None and service.batching is not None and service.batching.gap_free
    if is_gap_free and batch.numbered:
        raise Refused(
            "batch.state",
            f"batch {batch.id} has control numbers, and its port allows no gaps; resume it, or remove messages",
        )
