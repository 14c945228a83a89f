"""The end of every run with batches: what can go on goes on, until nothing waits, and the ledger agrees all the way."""

from __future__ import annotations

from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.journal import decode
from postroad.flow.administration import batch_actions as steering
from tests.samples.batch_ledger import BatchLedger
from tests.samples.send_port import SendPortScenario

HOUR_S = 3_600
MAX_ROUNDS = 60


class Watching:
    """Reads on in a journal, wherever it is kept."""

    def __init__(self, ledger: BatchLedger) -> None:
        self.ledger = ledger
        self._read_to = 0

    async def follow(self, node: SendPortScenario) -> None:
        while records := (await node.network.journal.read(self._read_to)).records:
            for record in records:
                self.ledger.read(record.seq, decode(record.facts))
            self._read_to = records[-1].seq


async def come_to_rest(node: SendPortScenario, owner: Caller, watching: Watching) -> None:
    """Let everything go on that can; then every order has come to one end, and every batch too."""
    ledger = watching.ledger
    await watching.follow(node)
    for _ in range(MAX_ROUNDS):
        if not ledger.waiting() and not ledger.unsettled():
            break
        node.clock.advance(HOUR_S)
        await node.network.expiry.expire_due()
        await _work(node)
        for batch in await node.network.batches.list_unsettled(node.profile("Acme/orders").gcid):
            await _continue(node, owner, batch)
        await _work(node)
        await _receive(node, watching)
        await watching.follow(node)
    ledger.check()
    assert ledger.waiting() == []
    assert ledger.unsettled() == []


async def _work(node: SendPortScenario) -> None:
    node.port.note_change()
    await node.work()


async def _continue(node: SendPortScenario, owner: Caller, batch: Batch) -> None:
    if batch.state is BatchState.SUSPENDED:
        await steering.resume(node.network, owner, batch.id, "the day is over", None)
    elif batch.state is BatchState.OPEN or batch.held:
        await steering.release(node.network, owner, batch.id, "the day is over", None)


async def _receive(node: SendPortScenario, watching: Watching) -> None:
    found = await node.poll()
    await watching.follow(node)
    for interchange in found:
        watching.ledger.hand_out(interchange.session, interchange.parts[0].data)
        await node.acknowledge(interchange)
