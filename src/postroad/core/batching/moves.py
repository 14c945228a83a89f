"""The state transitions of a batch, one function for each.

Rule: a move that ``BATCH_MOVES`` does not contain is refused, and nothing else changes a batch.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_actions import BATCH_ACTIONS
from postroad.core.model.batch_policy import BatchPolicy, Recovery
from postroad.errors import Refused

ACTIONS = {move: action for action in BATCH_ACTIONS.values() for move in action.moves}  # by their moves


def open_batch(
    batch_id: str, key: tuple[str, ...], now_us: int, *, kind: str = "", controlled: bool = False, started: bool = False
) -> Batch:
    return Batch(
        id=batch_id,
        key=key,
        kind=kind,
        opened_at_us=now_us,
        latest_at_us=now_us,
        changed_at_us=now_us,
        controlled=controlled,
        started=started,
    )


def close_empty_batch(batch_id: str, why: str, at_us: int) -> Batch:
    """Return a closed batch without members, for a scheduled time without messages."""
    return close_batch(open_batch(batch_id, (), at_us), Criterion.SCHEDULE, why, at_us)


def add_member(batch: Batch, member: BatchMember, now_us: int) -> Batch:
    """Return the batch with one more member."""
    latest_at_us = max(batch.latest_at_us, now_us)
    return replace(
        batch,
        state=_state_after(batch, "joined"),
        count=batch.count + 1,
        bytes=batch.bytes + member.bytes,
        latest_at_us=latest_at_us,
        changed_at_us=max(batch.changed_at_us, latest_at_us),
    )


def remove_member(batch: Batch, member: BatchMember, now_us: int) -> Batch:
    """Return the batch without a member that expired, was cancelled or removed; clears its interchange."""
    last = batch.count <= 1
    return replace(
        batch,
        state=_state_after(batch, "emptied" if last else "left"),
        count=batch.count - 1,
        bytes=batch.bytes - member.bytes,
        interchange="",
        changed_at_us=max(batch.changed_at_us, now_us),
    )


def pause_batch(batch: Batch, now_us: int) -> Batch:
    """Pause a batch: it still accepts members and closes, but is not assembled."""
    state = _state_after(batch, "held")
    return replace(batch, state=state, held=True, changed_at_us=max(batch.changed_at_us, now_us))


def unpause_batch(batch: Batch, now_us: int) -> Batch:
    """Resume a batch that is not suspended; one that is not paused stays as it is."""
    state = _state_after(batch, "let go")
    return replace(batch, state=state, held=False, changed_at_us=max(batch.changed_at_us, now_us))


def close_batch(batch: Batch, by: Criterion, why: str, at_us: int) -> Batch:
    """Close the batch as of a moment, never before its latest change."""
    at_us = max(at_us, batch.changed_at_us)
    return replace(
        batch, state=_state_after(batch, "closed"), closed_by=by, why=why, closed_at_us=at_us, changed_at_us=at_us
    )


def release_batch(batch: Batch, now_us: int, who: str) -> Batch:
    """Close the batch on request, and resume it if it was paused."""
    batch = unpause_batch(batch, now_us) if batch.held else batch
    if batch.state is BatchState.CLOSED:
        return batch
    return close_batch(batch, Criterion.REQUEST, f"{who} asked for it", now_us)


def suspend_batch(batch: Batch, why: str, now_us: int, by: Criterion | None = None) -> Batch:
    """Suspend the batch until it is resumed or dropped; an open batch accepts no more members."""
    at_us = max(batch.changed_at_us, now_us)
    return replace(
        batch,
        state=_state_after(batch, "suspended"),
        why=why,
        closed_by=batch.closed_by or by,
        closed_at_us=batch.closed_at_us or at_us,
        changed_at_us=at_us,
    )


def resume_batch(batch: Batch, now_us: int) -> Batch:
    """Resume a suspended batch: send the same bytes if its members are unchanged, else assemble it again."""
    move = "sent again" if batch.interchange else "resumed"
    return replace(batch, state=_state_after(batch, move), held=False, changed_at_us=max(batch.changed_at_us, now_us))


def drop_batch(batch: Batch, why: str, now_us: int) -> Batch:
    state = _state_after(batch, "dropped")
    return replace(batch, state=state, why=why, changed_at_us=max(batch.changed_at_us, now_us))


def mark_assembled(batch: Batch, interchange: str, now_us: int) -> Batch:
    if batch.held:
        raise Refused("batch.state", f"batch {batch.id} is paused; resume it first")
    return replace(
        batch,
        state=_state_after(batch, "assembled"),
        interchange=interchange,
        numbered=batch.numbered or interchange,
        changed_at_us=max(batch.changed_at_us, now_us),
    )


def mark_sent(batch: Batch, now_us: int) -> Batch:
    return replace(batch, state=_state_after(batch, "sent"), changed_at_us=max(batch.changed_at_us, now_us))


def recover_batch(policy: BatchPolicy, batch: Batch, now_us: int) -> Batch:
    """Apply the policy's recovery setting to a batch that a crash left open."""
    if batch.state is not BatchState.OPEN or policy.recovery is Recovery.GO_ON:
        return batch
    why = "the network stopped without warning while it was open"
    if policy.recovery is Recovery.PASS:
        return close_batch(batch, Criterion.RECOVERY, why, now_us)
    return suspend_batch(batch, why, now_us, Criterion.RECOVERY)


def _state_after(batch: Batch, move: str) -> BatchState:
    state = BATCH_MOVES[batch.state].get(move)
    if state is None:
        raise Refused(
            "batch.state", f"batch {batch.id} is {batch.state.value} and {_impossible(move)}; {_possible(batch)}"
        )
    return state


def _impossible(move: str) -> str:
    action = ACTIONS.get(move)
    if action is not None and action.of_member:
        return "no message can be removed from it"
    return f"cannot be {action.past if action is not None else move}"


def _possible(batch: Batch) -> str:
    """Return the possible actions on the batch, in words."""
    if batch.state is BatchState.ASSEMBLED:
        return "wait until its interchange is delivered or fails"
    advice = [action.advice for action in BATCH_ACTIONS.values() if action.is_possible(batch)]
    return f"{', '.join(advice[:-1])} or {advice[-1]}" if advice else "its state is final"
