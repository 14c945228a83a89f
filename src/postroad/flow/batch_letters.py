"""The dead letters of interchanges: an interchange that is not to go any more is not to be resent by itself either."""

from __future__ import annotations

from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesDropped
from postroad.core.projection.keys import dealt_key
from postroad.core.projection.queries import JOURNEY, LETTER
from postroad.flow.commit import committed
from postroad.ports import Clock, Conflict, Desk, IndexReader, Step

DEALT = LETTER.index("dealt_seq")
AT_NUMBER = JOURNEY.index("at_number")


async def place_of_failure(index: IndexReader, batch: Batch) -> int:
    """The delivery at which its interchange is: the one on which a journey is now, or the only one."""
    rows = await index.query("journey", batch.delivery)
    return int(rows[0][AT_NUMBER]) if rows else batch.delivery


async def resent_as(index: IndexReader, batch: Batch) -> int:
    """The delivery under which the dead letter of its interchange is under way again; 0 when it is not."""
    rows = await index.query("dead_letter", await place_of_failure(index, batch))
    number = delivery_number(rows[0][DEALT], 0) if rows and rows[0][DEALT] else 0
    return number if number and await index.query("delivery", number) else 0  # else it was put aside


async def put_aside(desk: Desk, index: IndexReader, clock: Clock, after: Batch, by: str) -> bool:
    """Drop the letter of an interchange that loses a member or is dropped with its batch; False: somebody has it resent."""
    is_over = not after.interchange or after.state is BatchState.DROPPED
    if not (is_over and after.delivery):
        return True
    number = await place_of_failure(index, after)
    rows = await index.query("dead_letter", number)
    if not rows or rows[0][DEALT]:
        return not await resent_as(index, after)
    entry = DeliveriesDropped(clock.now_us(), by, f"batch {after.id} does not send it any more", (number,))
    step = Step(entry, keys=(dealt_key(number),), reserve=True)
    return not isinstance(await committed(desk, step), Conflict)
