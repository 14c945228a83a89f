"""Assemble the interchange of a closed batch and post it in the batcher's name.

Rules: the interchange, its control numbers and the batch's next state are one entry, so numbers are used exactly when
the interchange is posted. A member that does not fit fails alone, and the batch continues without it. An error of the
whole batch suspends it until someone resolves it. Unexpected errors are retried first, so that a temporary storage
error does not suspend a batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from postroad.core.batching import order_members
from postroad.core.batching.interchange_contents import document_of, envelope_of
from postroad.core.batching.moves import mark_assembled, remove_member, suspend_batch
from postroad.core.delivery.possible_duplicate import is_possible_duplicate
from postroad.core.delivery.reasons import make_reason
from postroad.core.interchange.assembly_errors import find_unfit_member
from postroad.core.interchange.document_options import read_declared_options
from postroad.core.interchange.model import DescribedDocument, Envelope, Placed
from postroad.core.interchange.numbering import NumberDrawing, NumberingParties, RedrawnNumbers
from postroad.core.interchange.positions import record_position
from postroad.core.interchange.standard import Standard
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import Batching
from postroad.core.model.directory import Service
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AssembledInterchange, DrawnNumber
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import Message, Part, Property, PropertyType
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.unique_keys import batch_key, number_key
from postroad.core.visibility.redact_delivery import list_visible_properties
from postroad.errors import Refused, Unavailable
from postroad.flow.batching.post_interchange import build_interchange_step
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.concurrency.error_location import locate_error
from postroad.flow.log_fields import describe_service
from postroad.flow.network import Network
from postroad.flow.registries.batches import MemberJourney, PendingMember, raise_version
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.flow.stages.posting import decode_parts
from postroad.ports import Conflict, JournalStep

FORM = "interchange"
MAX_DRAWS = 10  # times that others may draw the same numbers at the same moment
TRIES = 3  # attempts at a batch that fails unexpectedly
OFF_LOOP_BYTES = 256 << 10  # from so many bytes on, an interchange is made beside the event loop
MAX_REASON = 500
DAMAGED = Refused("storage.damaged", "a document of it cannot be read; contact the network's operator, then resume it")
HEADER = MESSAGE.index("header")

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class MemberDocument(NamedTuple):
    """A batch member with its document and the few message fields that assembling needs."""

    member: BatchMember
    gathered: MemberJourney
    topic: str
    data: bytes
    options: Mapping[str, str] = {}  # how the document is written, as far as its message declares it
    possible_duplicate: bool = False


class BuiltInterchange(NamedTuple):
    """An assembled interchange and the control numbers it uses."""

    stream: bytes
    again: tuple[DrawnNumber, ...]  # numbers that the batch has drawn before
    new: tuple[DrawnNumber, ...]
    placed: list[Placed]


class InterchangeAssembler:
    """Assembles the interchanges of one batcher."""

    def __init__(self, network: Network, message_bytes: int) -> None:
        self._network = network
        self._book = network.batches
        self._numbers = InterchangeRegistry(network.plumbing)
        self._message_bytes = message_bytes
        self._drawings: dict[NumberingParties, NumberDrawing] = {}  # the latest, where the index need not be asked
        self._tried: dict[str, int] = {}  # batches that failed unexpectedly, and how often

    def forget(self) -> None:
        """Forget the cached control numbers; other nodes may have drawn some."""
        self._drawings = {}

    async def assemble(self, service: Service, batching: Batching, batch: Batch) -> Batch | None:
        """Return the batch assembled, suspended or without an unfit member; None on a version conflict.

        Requires an index that has caught up with the journal.
        """
        try:
            after = await self._assemble(service, batching, batch)
        except Unavailable as trouble:
            if trouble.code != DAMAGED.code:
                raise
            log.error(
                "batch.assembly_waiting: batch %s cannot be assembled: %s",
                batch.id,
                trouble,
                extra={"batch": batch.id} | describe_service(service, trouble),
            )
            after = await self._suspended(service, batch, DAMAGED)
        except Refused as refusal:
            after = await self._suspended(service, batch, refusal)
        except Exception as error:
            self._tried[batch.id] = self._tried.get(batch.id, 0) + 1
            if self._tried[batch.id] < TRIES:
                raise
            after = await self._suspended(service, batch, _failed(error))
        self._tried.pop(batch.id, None)
        return after

    async def _suspended(self, service: Service, batch: Batch, refusal: Refused) -> Batch | None:
        if isinstance(refusal.__cause__, Exception):
            log.error(
                "batch.assembly_failed: batch %s cannot be assembled: %s",
                batch.id,
                locate_error(refusal.__cause__),
                extra={"batch": batch.id} | describe_service(service, refusal),
            )
        why = f"{refusal.code}: {refusal.detail}"[:MAX_REASON]
        after = suspend_batch(batch, why, self._network.clock.now_us())
        written = await self._book.write(service.gcid, "suspended", [after])
        return written[0] if written is not None else None

    async def _assemble(self, service: Service, batching: Batching, batch: Batch) -> Batch | None:
        standard = self._network.standards.standard(batching.standard)
        envelope = envelope_of(batching, batch)
        documents = await self._documents(batching, batch)
        for _ in range(MAX_DRAWS):
            drawing = await self._drawing(_sides(service, batching), batching, batch)
            try:
                made = await _made(standard, envelope, drawing, documents)
            except Refused as refusal:
                if find_unfit_member(refusal) is None:
                    raise
                return await self._without_unfit(service, batch, standard, envelope, documents, refusal)
            step = self._step(service, batching, batch, standard, documents, made)
            outcome = await commit_step(self._network.desk, step)
            if not isinstance(outcome, Conflict):
                self._drawings[_sides(service, batching)] = drawing.drawing
                after = self._on_its_way(step, outcome.seq)
                self._book.remember(after, [one.gathered for one in documents])
                return after
            if outcome.key == batch_key(raise_version(batch)):
                return None
            self.forget()
        raise Unavailable(
            "network.busy", "Other interchanges are using the same control numbers; the batch is assembled in a moment"
        )

    def _on_its_way(self, step: JournalStep, seq: int) -> Batch:
        entry = step.entry
        if not isinstance(entry, MessagePosted) or entry.assembled is None or entry.assembled.batch is None:
            raise TypeError("an interchange is posted with its batch")
        self._network.note_expiry(entry.expires_at_us)
        return replace(entry.assembled.batch, delivery=delivery_number(seq, 0))

    async def _drawing(self, sides: NumberingParties, batching: Batching, batch: Batch) -> RedrawnNumbers:
        before = self._drawings.get(sides)
        drawing = before.after() if before is not None else await self._numbers.drawing(sides)
        if not (batching.gap_free and batch.numbered):
            return RedrawnNumbers(drawing)
        [row] = await self._network.index.query("message", batch.numbered)
        first = decode(row[HEADER])
        if not isinstance(first, MessagePosted) or first.assembled is None:
            raise TypeError("an interchange is a post")
        series = sides.series("")
        return RedrawnNumbers(drawing, [one for one in first.assembled.numbers if one.series.startswith(series)])

    async def _documents(self, batching: Batching, batch: Batch) -> list[MemberDocument]:
        """Return the members in the order of the interchange."""
        self._check_size(batch.bytes)
        found: dict[int, MemberDocument] = {}
        gone, restored_seq = 0, self._network.directory.restored_seq
        async for page in self._book.members(batch.id):
            bodies = await self._network.desk.bodies([held.queued for held in page])
            for held, body in zip(page, bodies, strict=True):
                if body is None:
                    gone += 1
                else:
                    repeated = is_possible_duplicate(held.queued, restored_seq)
                    found[held.queued.number] = _document(batching, held, body)._replace(possible_duplicate=repeated)
        if gone:
            raise Refused(
                "body.dropped",
                f"the documents of {gone} messages are no longer stored; remove these messages, or drop the batch",
            )
        return [
            found[member.number] for member in order_members(batching.policy, [one.member for one in found.values()])
        ]

    def _check_size(self, size: int) -> None:
        if size > self._message_bytes:
            raise Refused(
                "message.too-large",
                f"it has {size} bytes, and the network's limit is {self._message_bytes}; remove messages, or drop the batch",
            )

    def _step(
        self,
        service: Service,
        batching: Batching,
        batch: Batch,
        standard: Standard,
        documents: list[MemberDocument],
        made: BuiltInterchange,
    ) -> JournalStep:
        self._check_size(len(made.stream))
        part = Part(id="interchange", content_type=standard.content_type, data=made.stream)
        repeated = any(one.possible_duplicate for one in documents)
        properties = _properties(batch, made)
        message = Message(topic=_topic(documents), possible_duplicate=repeated, properties=properties, parts=(part,))
        numbers = [one.gathered.number for one in documents]

        def facts(session: str, now_us: int) -> tuple[AssembledInterchange, tuple[int, ...]]:
            after = raise_version(mark_assembled(batch, session, now_us))
            where = tuple([record_position(one, numbers[one.position]) for one in made.placed])
            whole = AssembledInterchange(
                standard.name, made.again + made.new, after, where, standard.answers_by_document
            )
            return whole, (batch_key(after), *map(number_key, made.new))

        return build_interchange_step(self._network, service, batching.sends_to, message, facts)

    async def _without_unfit(
        self,
        service: Service,
        batch: Batch,
        standard: Standard,
        envelope: Envelope,
        documents: list[MemberDocument],
        refusal: Refused,
    ) -> Batch | None:
        """Fail the members that do not fit, and return the batch with the others."""
        first = find_unfit_member(refusal) or 0
        faults = {first: refusal.detail}
        rest = documents[first + 1 :]
        alone = await _beside(rest, lambda: _unfit(standard, envelope, rest))
        faults.update({first + 1 + place: detail for place, detail in alone.items()})
        after: Batch | None = batch
        for place, detail in faults.items():
            if after is None or after.state is not BatchState.CLOSED:
                break
            one = documents[place]
            reason = make_reason("interchange.unfit", detail=detail)
            without = remove_member(after, one.member, self._network.clock.now_us())
            after = await self._book.end(service.gcid, "failed", reason, without, [one.gathered])
        return after


def _document(batching: Batching, held: PendingMember, body: bytes) -> MemberDocument:
    queued, part = held.queued, document_of(decode_parts(held.queued.content.parts, body))
    options = read_declared_options(batching.standard, part.content_type, list_visible_properties(queued))
    return MemberDocument(held.member, held.gathered, queued.message.topic, part.data, options)


def _sides(service: Service, batching: Batching) -> NumberingParties:
    return NumberingParties(service.organization, batching.standard, batching.sender, batching.receiver)


async def _made(
    standard: Standard, envelope: Envelope, drawing: RedrawnNumbers, documents: list[MemberDocument]
) -> BuiltInterchange:
    return await _beside(documents, lambda: _assembled(standard, envelope, drawing, documents))


async def _beside(documents: list[MemberDocument], work: Callable[[], Result]) -> Result:
    """Run a standard's work off the event loop if it is large; its errors are final, so it is not retried."""
    try:
        if sum(len(one.data) for one in documents) < OFF_LOOP_BYTES:
            return work()
        return await asyncio.to_thread(work)
    except (Refused, Unavailable):
        raise
    except Exception as error:  # of one standard, or a plug-in's: other batches go on
        raise _failed(error)  # noqa: B904 - it names its cause itself


def _failed(error: Exception) -> Refused:
    told = f"assembling it failed ({type(error).__name__}); contact the network's operator"
    refusal = Refused("service.failed", told)
    refusal.__cause__ = error
    return refusal


def _assembled(
    standard: Standard, envelope: Envelope, drawing: RedrawnNumbers, documents: list[MemberDocument]
) -> BuiltInterchange:
    placed: list[Placed] = []
    described = [DescribedDocument(one.data, one.options) for one in documents]
    pieces = standard.assemble_members(described, envelope, drawing, placed.append)
    stream = b"".join(pieces)
    return BuiltInterchange(stream, drawing.again(), drawing.list_new(), placed)


def _unfit(standard: Standard, envelope: Envelope, documents: list[MemberDocument]) -> dict[int, str]:
    """Return the errors of members that do not fit even alone, by their index."""
    faults = {}
    in_thought = NumberDrawing(NumberingParties("", standard.name, "", ""), {})
    for place, one in enumerate(documents):
        try:
            _assembled(standard, envelope, RedrawnNumbers(in_thought), [one])
        except Refused as refusal:
            if find_unfit_member(refusal) is not None:
                faults[place] = refusal.detail
    return faults


def _topic(documents: list[MemberDocument]) -> str:
    """Return the topic that all members share, or ''."""
    topics = {one.topic for one in documents}
    return topics.pop() if len(topics) == 1 else ""


def _properties(batch: Batch, made: BuiltInterchange) -> tuple[Property, ...]:
    reference = made.placed[0].interchange if made.placed else str((made.again + made.new)[0].number)
    return (
        Property("batch.id", batch.id),
        Property("batch.count", str(batch.count), PropertyType.NUMBER),
        Property("interchange.reference", reference),
    )
