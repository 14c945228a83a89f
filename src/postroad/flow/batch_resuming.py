"""Let a suspended batch go on.

Kept rule: where an interchange was made and nobody has left since, the same bytes go under the same numbers: as the dead letter
that it is, or posted once more where it expired or was withdrawn. Otherwise the batch is assembled anew.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.batching.moves import resumed
from postroad.core.model.batch import Batch
from postroad.core.model.directory import Service
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import Message
from postroad.core.projection.keys import assembled_keys
from postroad.core.projection.queries import MESSAGE
from postroad.errors import Refused
from postroad.flow.batch_book import next_version
from postroad.flow.batch_fates import Fates
from postroad.flow.batch_posting import interchange_step
from postroad.flow.commit import committed
from postroad.flow.network import Network
from postroad.flow.posting import parts_of
from postroad.ports import BodyAt, Conflict, Step

HEADER, BODY = MESSAGE.index("header"), MESSAGE.index("body_segment")


class Resuming:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._book = network.batches
        self._fates = Fates(network)

    async def resume(self, batch: Batch, by: str, reason: str) -> Batch | None:
        """The batch as it is then; None: somebody was quicker. Refused where it cannot go on now."""
        after = resumed(batch, self._network.clock.now_us())
        if not batch.interchange:
            return await self._written(after, by, "resumed", reason)
        delivery = await self._fates.resent_as(batch) or await self._resent(batch, by, reason)
        if delivery:
            return await self._written(replace(after, delivery=delivery), by, "sent again", reason)
        return await self._posted_again(batch)

    async def _written(self, after: Batch, by: str, what: str, reason: str) -> Batch | None:
        written = await self._book.write(by, what, [after], reason=reason)
        return written[0] if written is not None else None

    async def _resent(self, batch: Batch, by: str, reason: str) -> int:
        """Have the dead letter of its interchange delivered once more; 0 when it is none, or was put aside."""
        letters, fate = self._network.dead_letters, await self._fates.fate_of(batch)
        letter = await letters.find(self._network.index, fate.delivery)
        if letter is None or letter.dealt_seq:
            return 0
        await letters.check(letter)
        return await letters.resend(letter, by, reason)

    async def _posted_again(self, batch: Batch) -> Batch | None:
        service = self._network.directory.services.get(batch.service)
        if service is None or service.batching is None:
            raise Refused(
                "batch.state", "Its service gathers no messages any more; make it a batcher again, or drop it"
            )
        step = await self._step(service, service.batching.sends_to, batch)
        outcome = await committed(self._network.desk, step)
        if isinstance(outcome, Conflict):
            return None
        entry = step.entry
        if not isinstance(entry, MessagePosted) or entry.assembled is None or entry.assembled.batch is None:
            raise TypeError("an interchange is posted with its batch")
        self._network.expires(entry.expires_at_us)
        return replace(entry.assembled.batch, delivery=delivery_number(outcome.seq, 0))

    async def _step(self, service: Service, sends_to: str, batch: Batch) -> Step:
        """The same message, with the numbers that it has drawn already."""
        [row] = await self._network.index.query("message", batch.interchange)
        before = decode(row[HEADER])
        if not isinstance(before, MessagePosted) or before.assembled is None:
            raise TypeError("an interchange is a post")
        body = await self._network.journal.body(BodyAt(*row[BODY : BODY + 4]))
        if body is None:
            raise Refused("body.dropped", "Its interchange is no longer kept; take a member out, or drop it")
        message = Message(
            topic=before.topic, properties=before.properties, parts=parts_of(before.parts, body[: before.size])
        )
        standard, where = before.assembled.standard, before.assembled.filed

        def facts(session: str, now_us: int) -> tuple[Assembled, tuple[int, ...]]:
            after = replace(next_version(resumed(batch, now_us)), interchange=session)
            again = Assembled(standard, (), after, where)
            return again, assembled_keys(again)

        return interchange_step(self._network, service, sends_to, message, facts)
