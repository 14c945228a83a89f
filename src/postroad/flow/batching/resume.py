"""Resume a suspended batch.

Rule: if an interchange was made and no member has left since, the same bytes are sent under the same numbers: by
resending its dead letter, or by posting it again if it expired, was withdrawn, or has another recipient now.
Otherwise, or if its bytes are no longer stored, the batch is assembled again.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.batching.moves import resume_batch
from postroad.core.model.batch import Batch
from postroad.core.model.directory import Service
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import Message
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.unique_keys import assembled_keys
from postroad.errors import Refused
from postroad.flow.batching.post_interchange import build_interchange_step
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.network import Network
from postroad.flow.registries.batches import raise_version
from postroad.flow.registries.interchange_dead_letters import (
    drop_interchange_letter,
    find_failed_delivery,
    find_resent_delivery,
)
from postroad.flow.stages.posting import decode_parts
from postroad.ports import BodyAt, Conflict, JournalStep

HEADER, BODY = MESSAGE.index("header"), MESSAGE.index("body_segment")


class BatchResumption:
    """Resumes suspended batches: sends the same interchange again, or assembles a new one."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._book = network.batches

    async def resume(self, batch: Batch, by: str, reason: str) -> Batch | None:
        """Return the resumed batch; None on a version conflict. Raises Refused if it cannot be resumed now."""
        after = resume_batch(batch, self._network.clock.now_us())
        if batch.interchange:
            service, sends_to = self._port(batch)
            resent = await find_resent_delivery(self._network.index, batch)
            if delivery := resent or await self._resent(batch, sends_to, by, reason):
                return await self._sent_again(replace(after, delivery=delivery), by, reason)
            step = await self._step(service, sends_to, batch)
            if not await self._put_aside(batch, by):
                return None
            if step is not None:
                return await self._posted(step)
            after = resume_batch(replace(batch, interchange=""), self._network.clock.now_us())
        return await self._written(after, by, "resumed", reason)

    def _port(self, batch: Batch) -> tuple[Service, str]:
        service = self._network.directory.services.get(batch.service)
        if service is None or service.batching is None:
            raise Refused("batch.state", "Its service is no longer a batcher; make it one again, or drop the batch")
        return service, service.batching.sends_to

    async def _sent_again(self, after: Batch, by: str, reason: str) -> Batch | None:
        """Store that the same bytes are sent again; the batcher may have noticed that first."""
        written = await self._written(after, by, "sent again", reason)
        found = await self._book.find(after.id) if written is None else None
        return found if found is not None and found.delivery == after.delivery else written

    async def _written(self, after: Batch, by: str, what: str, reason: str) -> Batch | None:
        written = await self._book.write(by, what, [after], reason=reason)
        return written[0] if written is not None else None

    async def _resent(self, batch: Batch, sends_to: str, by: str, reason: str) -> int:
        """Resend the interchange's dead letter; 0 if that is not possible."""
        network = self._network
        letter = await network.dead_letters.find(network.index, await find_failed_delivery(network.index, batch))
        if letter is None or letter.dealt_seq:
            return 0
        receiver = network.directory.service(sends_to)
        is_for_another = receiver is None or receiver.gcid != letter.queued.hops[-1].service
        if is_for_another or await network.desk.body(letter.queued) is None:
            return 0
        await network.dead_letters.check(letter)
        return await network.dead_letters.resend(letter, by, reason)

    async def _put_aside(self, batch: Batch, by: str) -> bool:
        """Drop the interchange's dead letter, because another message replaces it; False if it was resent meanwhile."""
        network = self._network
        return await drop_interchange_letter(
            network.desk, network.index, network.clock, replace(batch, interchange=""), by
        )

    async def _posted(self, step: JournalStep) -> Batch | None:
        network = self._network
        outcome = await commit_step(network.desk, step)
        if isinstance(outcome, Conflict):
            return None
        entry = step.entry
        if not isinstance(entry, MessagePosted) or entry.assembled is None or entry.assembled.batch is None:
            raise TypeError("an interchange is posted with its batch")
        network.note_expiry(entry.expires_at_us)
        return replace(entry.assembled.batch, delivery=delivery_number(outcome.seq, 0))

    async def _step(self, service: Service, sends_to: str, batch: Batch) -> JournalStep | None:
        """Build the step that posts the same bytes with the same numbers; None if they are no longer stored."""
        [row] = await self._network.index.query("message", batch.interchange)
        before = decode(row[HEADER])
        if not isinstance(before, MessagePosted) or before.assembled is None:
            raise TypeError("an interchange is a post")
        body = await self._network.journal.body(BodyAt(*row[BODY : BODY + 4]))
        if body is None:
            return None
        message = Message(
            topic=before.topic, properties=before.properties, parts=decode_parts(before.parts, body[: before.size])
        )
        standard, where = before.assembled.standard, before.assembled.filed

        def facts(session: str, now_us: int) -> tuple[AssembledInterchange, tuple[int, ...]]:
            after = replace(raise_version(resume_batch(batch, now_us)), interchange=session)
            again = AssembledInterchange(standard, (), after, where)
            return again, assembled_keys(again)

        return build_interchange_step(self._network, service, sends_to, message, facts)
