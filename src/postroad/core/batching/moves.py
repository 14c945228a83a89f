"""The moves of a batch, one function for each: a batch in, the batch as it is then out.

Kept rule: what ``BATCH_MOVES`` does not know is refused, and nothing else changes a batch.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import Policy, Recovery
from postroad.errors import Refused

CALLED = {"closed": "released", "left": "without a message", "emptied": "without a message", "sent again": "resumed"}
NEXT = {
    BatchState.OPEN: "release it, hold it back, or take messages out",
    BatchState.CLOSED: "hold it back or let it go, or take messages out",
    BatchState.ASSEMBLED: "wait for what becomes of its interchange",
    BatchState.SUSPENDED: "resume or drop it, or take messages out",
}


def opened(
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


def closed_empty(batch_id: str, why: str, at_us: int) -> Batch:
    """A batch without members, for a scheduled time at which nothing was gathered."""
    return closed(opened(batch_id, (), at_us), Criterion.SCHEDULE, why, at_us)


def joined(batch: Batch, member: BatchMember, now_us: int) -> Batch:
    """With one more member; a clock that was set back makes nothing younger."""
    latest_at_us = max(batch.latest_at_us, now_us)
    return replace(
        batch,
        state=_moved(batch, "joined"),
        count=batch.count + 1,
        bytes=batch.bytes + member.bytes,
        latest_at_us=latest_at_us,
        changed_at_us=max(batch.changed_at_us, latest_at_us),
    )


def left(batch: Batch, member: BatchMember, now_us: int) -> Batch:
    """Without a member that expired, was cancelled or taken out; an interchange that had it is not sent any more."""
    last = batch.count <= 1
    return replace(
        batch,
        state=_moved(batch, "emptied" if last else "left"),
        count=batch.count - 1,
        bytes=batch.bytes - member.bytes,
        interchange="",
        changed_at_us=max(batch.changed_at_us, now_us),
    )


def held(batch: Batch, now_us: int) -> Batch:
    """It goes on gathering and is closed as ever, but not assembled."""
    state = _moved(batch, "held")
    return replace(batch, state=state, held=True, changed_at_us=max(batch.changed_at_us, now_us))


def let_go(batch: Batch, now_us: int) -> Batch:
    state = _moved(batch, "let go")
    return replace(batch, state=state, held=False, changed_at_us=max(batch.changed_at_us, now_us))


def closed(batch: Batch, by: Criterion, why: str, at_us: int) -> Batch:
    """Closed as of a moment, which is never before its latest change."""
    at_us = max(at_us, batch.changed_at_us)
    return replace(batch, state=_moved(batch, "closed"), closed_by=by, why=why, closed_at_us=at_us, changed_at_us=at_us)


def released(batch: Batch, now_us: int, who: str) -> Batch:
    """Closed because somebody asked for it, and let go if it was held."""
    batch = let_go(batch, now_us) if batch.held else batch
    if batch.state is BatchState.CLOSED:
        return batch
    return closed(batch, Criterion.REQUEST, f"{who} asked for it", now_us)


def suspended(batch: Batch, why: str, now_us: int, by: Criterion | None = None) -> Batch:
    """Kept from going on until somebody resumes or drops it; an open one gathers no more."""
    at_us = max(batch.changed_at_us, now_us)
    return replace(
        batch,
        state=_moved(batch, "suspended"),
        why=why,
        closed_by=batch.closed_by or by,
        closed_at_us=batch.closed_at_us or at_us,
        changed_at_us=at_us,
    )


def resumed(batch: Batch, now_us: int) -> Batch:
    """Sent again with the same bytes where they were made and nobody has left since, else assembled anew."""
    move = "sent again" if batch.interchange else "resumed"
    return replace(batch, state=_moved(batch, move), held=False, changed_at_us=max(batch.changed_at_us, now_us))


def dropped(batch: Batch, why: str, now_us: int) -> Batch:
    state = _moved(batch, "dropped")
    return replace(batch, state=state, why=why, changed_at_us=max(batch.changed_at_us, now_us))


def assembled(batch: Batch, interchange: str, now_us: int) -> Batch:
    if batch.held:
        raise Refused("batch.state", f"batch {batch.id} is held back; let it go first")
    return replace(
        batch,
        state=_moved(batch, "assembled"),
        interchange=interchange,
        numbered=batch.numbered or interchange,
        changed_at_us=max(batch.changed_at_us, now_us),
    )


def sent(batch: Batch, now_us: int) -> Batch:
    return replace(batch, state=_moved(batch, "sent"), changed_at_us=max(batch.changed_at_us, now_us))


def recovered(policy: Policy, batch: Batch, now_us: int) -> Batch:
    """After a stop without warning: an open batch goes on, or is passed or failed as its policy says; others go on."""
    if batch.state is not BatchState.OPEN or policy.recovery is Recovery.GO_ON:
        return batch
    why = "the network stopped without warning while it was open"
    if policy.recovery is Recovery.PASS:
        return closed(batch, Criterion.RECOVERY, why, now_us)
    return suspended(batch, why, now_us, Criterion.RECOVERY)


def _moved(batch: Batch, move: str) -> BatchState:
    state = BATCH_MOVES[batch.state].get(move)
    if state is None:
        following = NEXT.get(batch.state, "nothing changes it any more")
        told = f"batch {batch.id} is {batch.state.value} and cannot be {CALLED.get(move, move)}; {following}"
        raise Refused("batch.state", told)
    return state
