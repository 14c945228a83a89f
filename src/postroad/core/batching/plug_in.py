"""Calls a batcher plug-in about a batch.

Rule: a plug-in that raises suspends only that batch.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.batching.moves import close_batch, suspend_batch
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import Port
from postroad.core.model.batcher import AddedMessage, Decision

STATE_CHARS = 10_000
_WHY_CHARS = 200


def start_batch(port: Port, batch: Batch, at_us: int) -> Batch:
    """Return a new batch with the initial state of the plug-in."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled:
        return batch
    try:
        state = _check_state(chosen.plug_in.initialise(dict(chosen.settings), at_us))
    except Exception as error:
        return suspend_batch(batch, _failure_text(chosen.name, error), at_us, Criterion.PLUG_IN)
    return replace(batch, plug_in_state=state)


def notify_added(port: Port, batch: Batch, member: BatchMember, at_us: int) -> Batch:
    """Tell the plug-in about a new member; returns the batch, closed if the plug-in reports it complete."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled or batch.state is not BatchState.OPEN:
        return batch
    message = AddedMessage(member.bytes, member.kind, at_us, batch.count, batch.bytes, dict(member.sort))
    try:
        decision = Decision(*chosen.plug_in.add(dict(chosen.settings), batch.plug_in_state, message))
        batch = replace(batch, plug_in_state=_check_state(decision.state))
    except Exception as error:
        return suspend_batch(batch, _failure_text(chosen.name, error), at_us, Criterion.PLUG_IN)
    if not decision.complete:
        return batch
    return close_batch(batch, Criterion.PLUG_IN, f"{chosen.name}: {decision.why}"[:_WHY_CHARS].rstrip(": "), at_us)


def timer_us(port: Port, batch: Batch) -> int | None:
    """Return when the plug-in wants to complete the batch, or None."""
    chosen = port.batcher
    if chosen is None or chosen.plug_in is None or batch.controlled:
        return None
    try:
        at_us = chosen.plug_in.timer(dict(chosen.settings), batch.plug_in_state)
        return at_us if at_us is None else int(at_us)
    except Exception:  # treated as due: the batch is closed, so that it does not wait indefinitely
        return batch.latest_at_us


def _check_state(state: object) -> str:
    if not isinstance(state, str) or len(state) > STATE_CHARS:
        raise TypeError(f"the state of a batch is text of at most {STATE_CHARS} characters")
    return state


def _failure_text(name: str, error: Exception) -> str:
    return f"the batcher plug-in {name} failed ({type(error).__name__}: {error})"[:_WHY_CHARS]
