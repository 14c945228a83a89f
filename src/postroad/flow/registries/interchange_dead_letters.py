"""Dead letters of interchanges: an interchange that its batch gave up must not be resent on its own."""

from __future__ import annotations

from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesDropped
from postroad.core.projection.queries import JOURNEY, LETTER
from postroad.core.projection.unique_keys import dead_letter_key
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import Clock, Conflict, Desk, IndexReader, JournalStep

DEALT = LETTER.index("dealt_seq")
AT_NUMBER = JOURNEY.index("at_number")


async def find_failed_delivery(index: IndexReader, batch: Batch) -> int:
    """Return the delivery that the interchange is at: its journey's current one, or the only one."""
    rows = await index.query("journey", batch.delivery)
    return int(rows[0][AT_NUMBER]) if rows else batch.delivery


async def find_resent_delivery(index: IndexReader, batch: Batch) -> int:
    """Return the delivery under which the interchange's dead letter was resent; 0 if it was not."""
    rows = await index.query("dead_letter", await find_failed_delivery(index, batch))
    number = delivery_number(rows[0][DEALT], 0) if rows and rows[0][DEALT] else 0
    return number if number and await index.query("delivery", number) else 0  # else it was put aside


async def drop_interchange_letter(desk: Desk, index: IndexReader, clock: Clock, after: Batch, by: str) -> bool:
    """Drop the dead letter of an interchange that is given up; False if it was resent meanwhile."""
    is_over = not after.interchange or after.state is BatchState.DROPPED
    if not (is_over and after.delivery):
        return True
    number = await find_failed_delivery(index, after)
    rows = await index.query("dead_letter", number)
    if not rows or rows[0][DEALT]:
        return not await find_resent_delivery(index, after)
    entry = DeliveriesDropped(
        at_us=clock.now_us(), by=by, reason=f"batch {after.id} does not send it any more", deliveries=(number,)
    )
    step = JournalStep(entry, keys=(dead_letter_key(number),), reserve=True)
    return not isinstance(await commit_step(desk, step), Conflict)
