"""A batcher plug-in asked about a batch. Rule: a plug-in that raises suspends the batch, and nothing else stops."""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.batching.moves import closed, suspended
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import Port
from postroad.core.model.batcher import AddedMessage, Decision

STATE_CHARS = 10_000
_WHY_CHARS = 200


def begun(port: Port, batch: Batch, at_us: int) -> Batch:
    """A new batch, with what the plug-in wants to know of it from the beginning."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled:
        return batch
    try:
        state = _checked(chosen.plug_in.initialise(dict(chosen.settings), at_us))
    except Exception as error:
        return suspended(batch, _failed(chosen.name, error), at_us, Criterion.PLUG_IN)
    return replace(batch, plug_in_state=state)


def added(port: Port, batch: Batch, member: BatchMember, at_us: int) -> Batch:
    """The batch after a message has joined it, closed if the plug-in says that it is complete."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled or batch.state is not BatchState.OPEN:
        return batch
    message = AddedMessage(member.bytes, member.kind, at_us, batch.count, batch.bytes, dict(member.sort))
    try:
        decision = Decision(*chosen.plug_in.add(dict(chosen.settings), batch.plug_in_state, message))
        batch = replace(batch, plug_in_state=_checked(decision.state))
    except Exception as error:
        return suspended(batch, _failed(chosen.name, error), at_us, Criterion.PLUG_IN)
    if not decision.complete:
        return batch
    return closed(batch, Criterion.PLUG_IN, f"{chosen.name}: {decision.why}"[:_WHY_CHARS].rstrip(": "), at_us)


def timer_us(port: Port, batch: Batch) -> int | None:
    """When the plug-in completes the batch by itself."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled:
        return None
    try:
        at_us = chosen.plug_in.timer(dict(chosen.settings), batch.plug_in_state)
        return at_us if at_us is None else int(at_us)
    except Exception:  # as if it were due: then it is closed, and somebody looks
        return batch.latest_at_us


def _checked(state: object) -> str:
    if not isinstance(state, str) or len(state) > STATE_CHARS:
        raise TypeError(f"the state of a batch is text of at most {STATE_CHARS} characters")
    return state


def _failed(name: str, error: Exception) -> str:
    return f"the batcher plug-in {name} failed ({type(error).__name__}: {error})"[:_WHY_CHARS]
