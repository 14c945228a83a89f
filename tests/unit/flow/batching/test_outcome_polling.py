"""Which batches are looked at: those of which something was told, and all others in their turn, some at a time."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.batching.moves import close_batch, mark_assembled, open_batch, suspend_batch
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy
from postroad.flow.batching.outcome_polling import RoundRobin
from tests.samples.send_port import send_port

SENT = BatchState.SENT


def sending(count: int) -> list[Batch]:
    made = [open_batch(f"{number:020x}", (), number) for number in range(1, count + 1)]
    return [mark_assembled(close_batch(batch, Criterion.COUNT, "", batch.opened_at_us), "ic", 9) for batch in made]


def test_all_have_their_turn_some_at_a_time_and_then_everybody_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.flow.batching.outcome_polling.AT_ONCE", 2)
    turns, batches = RoundRobin(BatchState.ASSEMBLED, 10.0), sending(5)
    batches.append(suspend_batch(batches[0], "no answer", 9))
    ids = [batch.id for batch in batches]
    assert [turns.next_batches(batches, 1.0) for _ in range(4)] == [{*ids[:2]}, {*ids[2:4]}, {ids[4]}, set()]
    assert turns.next_batches(batches, 10.9) == set()
    assert turns.next_batches(batches, 11.0) == {*ids[:2]}
    assert turns.next_batches([batch for batch in batches if batch.id != ids[1]], 11.0) == {*ids[2:4]}, (
        "one has gone meanwhile"
    )


async def test_reading_batches_again_asks_nothing_about_those_that_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a shared network they are read with every message that comes, however many interchanges are under way."""
    async with send_port(BatchPolicy(count=1)) as port:
        await port.post_orders(1, 10)
        await port.work()
        await port.work(2)
        asked: list[str] = []
        query = port.network.index.query

        async def noted(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            asked.append(name)
            return await query(name, *parameters)

        monkeypatch.setattr(port.network.index, "query", noted)
        port.port.note_change()
        await port.work()
        assert (asked.count("unsettled_batches"), asked.count("delivery")) == (1, 0)
        await port.work(2)
        assert asked.count("delivery") == 10


async def test_notified_changes_are_read_again_after_a_failed_query(monkeypatch: pytest.MonkeyPatch) -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        await port.post_orders(1, 1)
        await port.work()
        [interchange] = await port.poll()
        await port.work(2)
        await port.acknowledge(interchange)
        with monkeypatch.context() as broken:
            broken.setattr(port.network, "wait_until_indexed", failing)
            with pytest.raises(RuntimeError):
                await port.work()
        await port.work()
        assert await port.batch_states() == [SENT]


async def test_an_outcome_that_was_missed_is_found_by_polling() -> None:
    """As when another node was told of it."""
    async with send_port(BatchPolicy(count=1)) as port:
        await port.post_orders(1, 1)
        await port.work()
        [interchange] = await port.poll()
        await port.work(2)
        [batch] = await port.batches()
        port.network.batches.unwatch(batch.delivery)
        await port.acknowledge(interchange)
        await port.work()
        assert await port.batches() == [batch]
        await port.work(2)
        assert await port.batch_states() == [SENT]


async def failing() -> None:
    raise RuntimeError("the index is in trouble")
