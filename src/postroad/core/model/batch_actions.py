"""The actions on a batch: the one table that API, SDK, command line and console are built from.

Rule: an action is possible in exactly the states from which ``BATCH_MOVES`` has one of its moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.batch import BATCH_MOVES, Batch, BatchState


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAction:
    """An action on a batch, or on one of its members."""

    name: str  # the command, and the last segment of the URL
    operation: str  # operation id in OpenAPI
    title: str  # label of the button
    advice: str  # how errors about other actions suggest this one
    past: str  # participle, as in "released: batch …"
    done: str  # the console's report afterwards
    description: str  # in OpenAPI, in the SDK and in the help of the command
    moves: tuple[str, ...]  # of ``BATCH_MOVES``
    needs_reason: bool = False
    on_paused: bool | None = None  # where batches can be paused: True only for paused ones, False only for others
    of_member: bool = False  # it acts on one message of the batch, given by its delivery
    old_names: tuple[str, ...] = ()  # names that the action had before; they keep working, hidden

    @property
    def method(self) -> str:
        """Return the name of the SDK method."""
        return self.name.replace("-", "_")

    @property
    def path(self) -> str:
        """Return the end of its URL, below the batch."""
        return self._path_of(self.name)

    @property
    def old_paths(self) -> list[str]:
        """Return the ends of the URLs that the action had before."""
        return [self._path_of(name) for name in self.old_names]

    def _path_of(self, name: str) -> str:
        return f"/members/{{delivery}}/{name}" if self.of_member else f"/{name}"

    @property
    def states(self) -> frozenset[BatchState]:
        """Return the states that allow the action."""
        return frozenset(state for state, moves in BATCH_MOVES.items() if not moves.keys().isdisjoint(self.moves))

    def is_possible(self, batch: Batch) -> bool:
        """True if the batch is in a state that allows the action."""
        can_pause = "held" in BATCH_MOVES[batch.state]
        return batch.state in self.states and (not can_pause or self.on_paused in (None, batch.held))


RELEASE = BatchAction(
    name="release",
    operation="release_batch",
    title="Release now",
    advice="release it",
    past="released",
    done="The batch was released.",
    description="Close a batch now, even if its criteria are not met, and resume it if it was paused.",
    moves=("closed", "let go"),
)
PAUSE = BatchAction(
    name="pause",
    operation="pause_batch",
    title="Pause",
    advice="pause it",
    past="paused",
    done="The batch is paused: it gathers messages, and is not sent.",
    description="Pause a batch: it gathers messages and closes as usual, but is not sent until it is resumed.",
    moves=("held",),
    on_paused=False,
    old_names=("hold",),
)
RESUME = BatchAction(
    name="resume",
    operation="resume_batch",
    title="Resume",
    advice="resume it",
    past="resumed",
    done="The batch was resumed.",
    description="Resume a paused or suspended batch; a suspended one with the same bytes if its members are unchanged.",
    moves=("let go", "resumed", "sent again"),
    on_paused=True,
    old_names=("let-go",),
)
DROP = BatchAction(
    name="drop",
    operation="drop_batch",
    title="Drop",
    advice="drop it",
    past="dropped",
    done="The batch was dropped; its messages are dead letters.",
    description="Drop a suspended batch: its members become dead letters, which can be resent.",
    moves=("dropped",),
    needs_reason=True,
)
REMOVE = BatchAction(
    name="remove",
    operation="remove_batch_member",
    title="Remove",
    advice="remove messages",
    past="removed",
    done="The message was removed and is a dead letter now.",
    description="Remove one message from a batch: it becomes a dead letter, and the others continue.",
    moves=("left", "emptied"),
    needs_reason=True,
    of_member=True,
    old_names=("take-out",),
)
BATCH_ACTIONS: dict[str, BatchAction] = {action.name: action for action in (RELEASE, PAUSE, RESUME, DROP, REMOVE)}


def find_batch_action(name: str) -> BatchAction | None:
    """Return the action of a name, which may be one that it had before."""
    return next((action for action in BATCH_ACTIONS.values() if name in (action.name, *action.old_names)), None)


def list_possible_actions(batch: Batch, *, is_gathering: bool) -> list[BatchAction]:
    """Return the actions on a whole batch; a batch whose service no longer gathers messages can only be dropped."""
    if not is_gathering and batch.state in (BatchState.OPEN, BatchState.CLOSED):
        return [DROP]
    return [action for action in BATCH_ACTIONS.values() if not action.of_member and action.is_possible(batch)]
