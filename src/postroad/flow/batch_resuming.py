"""Let a suspended batch go on.

Kept rule: where an interchange was made and nobody has left since, the same bytes go under the same numbers: as the dead letter
that it is, or posted once more where it expired, was withdrawn, or is for somebody else now. Otherwise, and where its bytes are
no longer kept, the batch is assembled anew.
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
from postroad.flow.batch_letters import place_of_failure, put_aside, resent_as
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

    async def resume(self, batch: Batch, by: str, reason: str) -> Batch | None:
        """The batch as it is then; None: somebody was quicker. Refused where it cannot go on now."""
        after = resumed(batch, self._network.clock.now_us())
        if batch.interchange:
            service, sends_to = self._port(batch)
            resent = await resent_as(self._network.index, batch)
            if delivery := resent or await self._resent(batch, sends_to, by, reason):
                return await self._sent_again(replace(after, delivery=delivery), by, reason)
            step = await self._step(service, sends_to, batch)
            if not await self._put_aside(batch, by):
                return None
            if step is not None:
                return await self._posted(step)
            after = resumed(replace(batch, interchange=""), self._network.clock.now_us())
        return await self._written(after, by, "resumed", reason)

    def _port(self, batch: Batch) -> tuple[Service, str]:
        service = self._network.directory.services.get(batch.service)
        if service is None or service.batching is None:
            raise Refused(
                "batch.state", "Its service gathers no messages any more; make it a batcher again, or drop it"
            )
        return service, service.batching.sends_to

    async def _sent_again(self, after: Batch, by: str, reason: str) -> Batch | None:
        """The same bytes are under way; its batcher may have noticed before we come to write that down."""
        written = await self._written(after, by, "sent again", reason)
        found = await self._book.find(after.id) if written is None else None
        return found if found is not None and found.delivery == after.delivery else written

    async def _written(self, after: Batch, by: str, what: str, reason: str) -> Batch | None:
        written = await self._book.write(by, what, [after], reason=reason)
        return written[0] if written is not None else None

    async def _resent(self, batch: Batch, sends_to: str, by: str, reason: str) -> int:
        """Have the dead letter of its interchange delivered once more; 0 when that is not the way to go."""
        network = self._network
        letter = await network.dead_letters.find(network.index, await place_of_failure(network.index, batch))
        if letter is None or letter.dealt_seq:
            return 0
        receiver = network.directory.service(sends_to)
        is_for_another = receiver is None or receiver.gcid != letter.queued.hops[-1].service
        if is_for_another or await network.desk.body(letter.queued) is None:
            return 0
        await network.dead_letters.check(letter)
        return await network.dead_letters.resend(letter, by, reason)

    async def _put_aside(self, batch: Batch, by: str) -> bool:
        """Its interchange goes by another message, and not as the dead letter that it is; False: somebody has it resent."""
        network = self._network
        return await put_aside(network.desk, network.index, network.clock, replace(batch, interchange=""), by)

    async def _posted(self, step: Step) -> Batch | None:
        network = self._network
        outcome = await committed(network.desk, step)
        if isinstance(outcome, Conflict):
            return None
        entry = step.entry
        if not isinstance(entry, MessagePosted) or entry.assembled is None or entry.assembled.batch is None:
            raise TypeError("an interchange is posted with its batch")
        network.expires(entry.expires_at_us)
        return replace(entry.assembled.batch, delivery=delivery_number(outcome.seq, 0))

    async def _step(self, service: Service, sends_to: str, batch: Batch) -> Step | None:
        """The same message, with the numbers that it has drawn already; None when its bytes are no longer kept."""
        [row] = await self._network.index.query("message", batch.interchange)
        before = decode(row[HEADER])
        if not isinstance(before, MessagePosted) or before.assembled is None:
            raise TypeError("an interchange is a post")
        body = await self._network.journal.body(BodyAt(*row[BODY : BODY + 4]))
        if body is None:
            return None
        message = Message(
            topic=before.topic, properties=before.properties, parts=parts_of(before.parts, body[: before.size])
        )
        standard, where = before.assembled.standard, before.assembled.filed

        def facts(session: str, now_us: int) -> tuple[Assembled, tuple[int, ...]]:
            after = replace(next_version(resumed(batch, now_us)), interchange=session)
            again = Assembled(standard, (), after, where)
            return again, assembled_keys(again)

        return interchange_step(self._network, service, sends_to, message, facts)
