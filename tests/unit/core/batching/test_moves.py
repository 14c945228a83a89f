"""The life of a batch: what may happen to it in each state, and what may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.core.batching import moves
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Recovery
from postroad.errors import Refused
from tests.unit.core.batching.gathering import at

ONE, TWO = BatchMember(number=1, bytes=10), BatchMember(number=2, bytes=32)
NOW = at(99)
OPEN = moves.add_member(moves.add_member(moves.open_batch("b1", (), at(0)), ONE, at(1)), TWO, at(2))
CLOSED = moves.close_batch(OPEN, Criterion.COUNT, "2 of 2 messages", at(2))
ASSEMBLED = moves.mark_assembled(CLOSED, "ic-7", at(3))
SENT = moves.mark_sent(ASSEMBLED, at(4))
SUSPENDED = moves.suspend_batch(ASSEMBLED, "the partner does not answer", at(5))
DROPPED = moves.drop_batch(SUSPENDED, "not wanted", at(6))
DISSOLVED = moves.remove_member(moves.remove_member(OPEN, ONE, at(3)), TWO, at(4))
EVERY = {batch.state: batch for batch in (OPEN, CLOSED, ASSEMBLED, SENT, SUSPENDED, DROPPED, DISSOLVED)}
DONE: dict[str, Callable[[Batch], Batch]] = {
    "joined": lambda batch: moves.add_member(batch, ONE, NOW),
    "left": lambda batch: moves.remove_member(batch, ONE, NOW),
    "held": lambda batch: moves.pause_batch(batch, NOW),
    "let go": lambda batch: moves.unpause_batch(batch, NOW),
    "closed": lambda batch: moves.close_batch(batch, Criterion.REQUEST, "", NOW),
    "assembled": lambda batch: moves.mark_assembled(batch, "ic-8", NOW),
    "sent": lambda batch: moves.mark_sent(batch, NOW),
    "suspended": lambda batch: moves.suspend_batch(batch, "", NOW),
    "sent again": lambda batch: moves.resume_batch(batch, NOW),
    "dropped": lambda batch: moves.drop_batch(batch, "", NOW),
}


@pytest.mark.req("B5")
@pytest.mark.parametrize("move", DONE)
@pytest.mark.parametrize("state", BatchState)
def test_the_table_of_moves_is_what_happens(state: BatchState, move: str) -> None:
    expected = BATCH_MOVES[state].get(move)
    if expected is None:
        with pytest.raises(Refused, match=f"batch b1 is {state.value} and ") as refused:
            DONE[move](EVERY[state])
        assert refused.value.code == "batch.state"
    else:
        assert DONE[move](EVERY[state]).state is expected


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (
            lambda: moves.resume_batch(ASSEMBLED, NOW),
            "cannot be resumed; wait until its interchange is delivered or fails",
        ),
        (lambda: moves.drop_batch(OPEN, "", NOW), "cannot be dropped; release it, pause it or remove messages"),
        (lambda: moves.remove_member(SENT, ONE, NOW), "no message can be removed from it; its state is final"),
        (
            lambda: moves.release_batch(SUSPENDED, NOW, "ann"),
            "cannot be released; resume it, drop it or remove messages",
        ),
    ],
)
def test_who_cannot_do_something_is_told_what_they_can_do(refused: Callable[[], Batch], told: str) -> None:
    with pytest.raises(Refused, match=told):
        refused()


@pytest.mark.req("B2")
def test_a_member_that_leaves_is_counted_no_more_and_the_last_one_dissolves_the_batch() -> None:
    smaller = moves.remove_member(OPEN, ONE, at(3))
    assert (smaller.state, smaller.count, smaller.bytes) == (BatchState.OPEN, 1, 32)
    assert (DISSOLVED.state, DISSOLVED.count, DISSOLVED.bytes) == (BatchState.DISSOLVED, 0, 0)


@pytest.mark.req("B5")
def test_a_resumed_batch_is_sent_with_the_same_bytes_unless_a_member_has_left() -> None:
    same, again = moves.resume_batch(SUSPENDED, NOW), moves.resume_batch(moves.remove_member(SUSPENDED, ONE, NOW), NOW)
    assert (same.state, same.interchange) == (BatchState.ASSEMBLED, "ic-7")
    assert (again.state, again.interchange) == (BatchState.CLOSED, "")


def test_a_paused_batch_is_closed_but_not_assembled_until_it_is_resumed() -> None:
    complete = moves.close_batch(moves.pause_batch(OPEN, at(3)), Criterion.AGE, "", at(4))
    with pytest.raises(Refused, match="is paused; resume it first"):
        moves.mark_assembled(complete, "ic-1", NOW)
    assert moves.mark_assembled(moves.unpause_batch(complete, NOW), "ic-1", NOW).interchange == "ic-1"


def test_somebody_who_asks_for_a_batch_gets_it_held_or_not() -> None:
    for batch in (OPEN, moves.pause_batch(OPEN, at(3)), moves.pause_batch(CLOSED, at(3))):
        asked = moves.release_batch(batch, NOW, "ann")
        assert (asked.state, asked.held) == (BatchState.CLOSED, False)
    assert moves.release_batch(OPEN, NOW, "ann").why == "ann asked for it"
    assert moves.release_batch(CLOSED, NOW, "ann") == CLOSED


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("recovery", "state"),
    [(Recovery.GO_ON, BatchState.OPEN), (Recovery.PASS, BatchState.CLOSED), (Recovery.FAIL, BatchState.SUSPENDED)],
)
def test_a_batch_that_was_open_in_a_crash_goes_on_or_is_passed_or_failed(recovery: Recovery, state: BatchState) -> None:
    policy = BatchPolicy(recovery=recovery)
    assert moves.recover_batch(policy, OPEN, NOW).state is state
    assert all(moves.recover_batch(policy, batch, NOW) is batch for batch in (CLOSED, ASSEMBLED, SENT, SUSPENDED))
