"""The table of actions on batches agrees with the moves that batches can make."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postroad.core.batching import moves
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember, BatchState
from postroad.core.model.batch_actions import (
    BATCH_ACTIONS,
    DROP,
    PAUSE,
    REMOVE,
    RESUME,
    BatchAction,
    find_batch_action,
    list_possible_actions,
)
from postroad.errors import Refused

MEMBER = BatchMember(number=1, bytes=10)
CARRY_OUT = {
    "release": lambda batch: moves.release_batch(batch, 1, "owner"),
    "pause": lambda batch: moves.pause_batch(batch, 1),
    "resume": lambda batch: (moves.resume_batch if batch.state is BatchState.SUSPENDED else moves.unpause_batch)(
        batch, 1
    ),
    "drop": lambda batch: moves.drop_batch(batch, "why", 1),
    "remove": lambda batch: moves.remove_member(batch, MEMBER, 1),
}


def in_state(state: BatchState, *, held: bool = False) -> Batch:
    batch = moves.add_member(moves.open_batch("1", (), 0), MEMBER, 0)
    return replace(batch, state=state, held=held)


@pytest.mark.parametrize("state", BatchState)
@pytest.mark.parametrize("action", BATCH_ACTIONS.values(), ids=BATCH_ACTIONS)
def test_an_action_is_possible_where_its_move_is(action: BatchAction, state: BatchState) -> None:
    batch = in_state(state, held=bool(action.on_paused))
    try:
        CARRY_OUT[action.name](batch)
        succeeded = True
    except Refused:
        succeeded = False
    assert action.is_possible(batch) == succeeded


def test_moves_of_actions_exist() -> None:
    known = {move for moved in BATCH_MOVES.values() for move in moved}
    assert {move for action in BATCH_ACTIONS.values() for move in action.moves} <= known


@pytest.mark.parametrize(
    ("batch", "names"),
    [
        (in_state(BatchState.OPEN), ["release", "pause"]),
        (in_state(BatchState.CLOSED, held=True), ["release", "resume"]),
        (in_state(BatchState.SUSPENDED), ["resume", "drop"]),
        (in_state(BatchState.ASSEMBLED), []),
        (in_state(BatchState.SENT), []),
    ],
)
def test_possible_actions_on_the_whole_batch(batch: Batch, names: list[str]) -> None:
    assert [action.name for action in list_possible_actions(batch, is_gathering=True)] == names


def test_a_batch_whose_service_gathers_no_more_can_only_be_dropped() -> None:
    assert list_possible_actions(in_state(BatchState.OPEN), is_gathering=False) == [DROP]
    assert list_possible_actions(in_state(BatchState.SENT), is_gathering=False) == []


def test_the_path_of_an_action_on_a_member_names_the_member() -> None:
    assert REMOVE.path == "/members/{delivery}/remove"


def test_actions_are_found_by_the_names_that_they_had_before() -> None:
    found = {old: find_batch_action(old) for old in ("hold", "let-go", "take-out", "resume", "unknown")}
    assert found == {"hold": PAUSE, "let-go": RESUME, "take-out": REMOVE, "resume": RESUME, "unknown": None}
    assert REMOVE.old_paths == ["/members/{delivery}/take-out"]
