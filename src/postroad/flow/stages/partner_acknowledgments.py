"""Functional acknowledgments: send those for received interchanges, and record those for ours.

Rules: an acknowledgment is posted with the numbers that it uses as one entry, once for each received interchange,
however often its delivery is offered. If another writer used a number first, a new one is drawn. A partner's
acknowledgment is recorded once for each batch that it concerns, and also if it concerns none. Anyone can use any name
in an interchange, so a splitter's acknowledgments apply only to batches of its own organization.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postroad.core.interchange.acknowledgements import (
    BatchStatus,
    DocumentStatus,
    ReportedStatus,
    StatusScope,
    match_statuses,
    normalize_name,
    summarize_statuses,
)
from postroad.core.interchange.model import PartnerStatus, Split
from postroad.core.interchange.numbering import NumberDrawing, NumberingParties
from postroad.core.interchange.standard import Standard
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition
from postroad.core.model.journal import InterchangeAnswered
from postroad.core.model.message import Delivered, Part, Property
from postroad.core.projection.unique_keys import unique_keys
from postroad.core.routing.forward import Forward
from postroad.errors import Unavailable
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.flow.stages.forward import ForwardStage
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.ports import JournalStep

MAX_DRAWS = 10  # attempts if other writers draw the same numbers at the same time
MAX_DIGITS = 18  # of a control number that could be ours
DETAIL_CHARS = 1_000
MAX_UNMATCHED = 20  # unmatched acknowledgments in one entry


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgmentToSend:
    """The acknowledgment to send to a partner for one of its interchanges."""

    receiver: str  # GCID of the service to which it is sent
    name: str  # of this acknowledgment, unique for a delivery
    standard: Standard
    found: Split
    facts: tuple[tuple[str, str], ...] = ()  # options of the standard
    taken: bool = True
    rejected: tuple[int, ...] = ()  # indexes of members that were rejected although others were accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedAcknowledgments:
    """Acknowledgments received from a partner for interchanges sent to it."""

    standard: str
    ours: str  # our name in the interchanges
    partner: str
    said: tuple[ReportedStatus, ...]


class PartnerAcknowledgments:
    """Sends acknowledgments to partners and records the partners' own."""

    def __init__(
        self, plumbing: Plumbing, lookup: DeliveryLookup, interchanges: InterchangeRegistry, forwarding: ForwardStage
    ) -> None:
        self._desk, self._clock = plumbing.desk, plumbing.clock
        self._lookup = lookup
        self._interchanges = interchanges
        self._forwarding = forwarding
        self._drawing = asyncio.Lock()  # one at a time, to collide only with other processes

    async def came_before(self, delivered: Delivered, forwards: Sequence[Forward]) -> list[Forward]:
        """Return the forwards that another delivery has already made."""
        queued = (await self._lookup.find(delivered.token, delivered.recipient_gcid)).queued
        return [one for one in forwards if await self._forwarding.came_before(queued, one)]

    async def send(self, splitter: Service, delivered: Delivered, acknowledgment: AcknowledgmentToSend) -> None:
        """Send the acknowledgment to the partner, if one is due; raises Refused if it cannot be written."""
        caller = Caller.inside(splitter)
        queued = (await self._lookup.find(delivered.token, delivered.recipient_gcid)).queued
        async with self._drawing:
            for _ in range(MAX_DRAWS):
                forward = await self._answer(splitter.organization, acknowledgment)
                if (
                    forward is None
                    or await self._forwarding.send_acknowledgment(caller, delivered, queued, forward) is None
                ):
                    return
        raise Unavailable(
            "network.busy", "Other interchanges are using the same control numbers; the acknowledgment is retried"
        )

    async def _answer(self, organization: str, acknowledgment: AcknowledgmentToSend) -> Forward | None:
        standard, found = acknowledgment.standard, acknowledgment.found
        if standard.acknowledge is None or standard.answering is None:
            return None
        envelope = standard.answering(found, self._clock.now_us(), dict(acknowledgment.facts))
        sides = NumberingParties(organization, standard.name, envelope.sender, envelope.receiver)
        drawing = await self._interchanges.drawing(sides)
        pieces = standard.acknowledge(
            found, envelope, drawing, taken=acknowledgment.taken, rejected=acknowledgment.rejected
        )
        stream = await asyncio.to_thread(b"".join, pieces)
        return _as_forward(acknowledgment, stream, drawing) if stream else None

    async def record(
        self, splitter: Service, delivered: Delivered, all_received: Iterable[ReceivedAcknowledgments]
    ) -> None:
        """Record the acknowledgments in one message, once for each batch they concern.

        Applies only to batches of the splitter's organization, whatever names an interchange has.
        """
        queued = (await self._lookup.find(delivered.token, delivered.recipient_gcid)).queued
        log = _AcknowledgmentLog(queued.recipient, queued.message.session, self._clock.now_us())
        unmatched: list[tuple[ReceivedAcknowledgments, ReportedStatus]] = []
        for received in _by_sides(all_received):
            sent = _SentInterchanges(self._interchanges, splitter.organization, received)
            unmatched += [(received, said) for said in await self._record(log, received, sent)]
        if unmatched:
            await self._write(log.unmatched_entry(unmatched))

    async def _record(
        self, log: _AcknowledgmentLog, received: ReceivedAcknowledgments, sent: _SentInterchanges
    ) -> tuple[ReportedStatus, ...]:
        """Record one acknowledgment; returns the statuses that match nothing that was sent."""
        about = {batch: filed async for batch, filed in sent.referenced_interchanges()}
        # There may be a hundred thousand documents, each with a status: yield to other tasks.
        by_batch, unknown = await asyncio.to_thread(_verdicts_by_batch, received.said, about)
        for batch, found in by_batch.items():
            await self._write(log.of_batch(received, batch, found))
        return unknown

    async def _write(self, entry: InterchangeAnswered) -> None:
        await commit_step(self._desk, JournalStep(entry, None, tuple(unique_keys(entry)), reserve=True))


class _SentInterchanges:
    """The sent interchanges that an acknowledgment may refer to."""

    def __init__(self, interchanges: InterchangeRegistry, organization: str, received: ReceivedAcknowledgments) -> None:
        self._interchanges, self._said = interchanges, received.said
        self._sides = NumberingParties(organization, received.standard, received.ours, received.partner)

    async def referenced_interchanges(self) -> AsyncIterator[tuple[str, tuple[DocumentPosition, ...]]]:
        """Yield the batches that the acknowledgment may refer to, each with all its documents."""
        seen: set[str] = set()
        async for assembled in self._list():
            if assembled.batch is not None and assembled.batch.id not in seen:
                seen.add(assembled.batch.id)
                yield assembled.batch.id, assembled.filed

    async def _list(self) -> AsyncIterator[AssembledInterchange]:
        """Yield interchanges by their numbers if given; otherwise by their documents."""
        held: set[str] = set()
        await self._interchanges.caught_up()
        for scope, number in dict.fromkeys([named for one in self._said if (named := _number_named(one))]):
            found = await self._by_number(self._sides.series(scope), number)
            if found is not None:
                yield found
        for document in dict.fromkeys([normalize_name(one.document) for one in self._said if not _number_named(one)]):
            found = await self._by_document(document) if document not in held else None
            if found is not None:
                held.update(normalize_name(name) for one in found.filed for name in one.names)
                yield found

    async def _by_number(self, series: str, number: str) -> AssembledInterchange | None:
        """Find an interchange by number; a number longer than our maximum matches nothing."""
        could_be = number.isdecimal() and len(number.lstrip("0")) <= MAX_DIGITS
        return await self._interchanges.find_sent(series, int(number)) if could_be else None

    async def _by_document(self, document: str) -> AssembledInterchange | None:
        return await self._interchanges.holding(self._sides.series(StatusScope.MEMBER), document) if document else None


def _verdicts_by_batch(
    said: tuple[ReportedStatus, ...], about: Mapping[str, tuple[DocumentPosition, ...]]
) -> tuple[dict[str, BatchStatus], tuple[ReportedStatus, ...]]:
    """Return the status of each batch, and the reported statuses that match none."""
    batch_of = {id(one): batch for batch, filed in about.items() for one in filed}
    found = match_statuses(said, [one for filed in about.values() for one in filed])
    became: defaultdict[str, list[DocumentStatus]] = defaultdict(list)
    for one in found.became:
        became[batch_of[id(one.filed)]].append(one)
    return {batch: summarize_statuses(of_batch, about[batch]) for batch, of_batch in became.items()}, found.unmatched


def _as_forward(acknowledgment: AcknowledgmentToSend, stream: bytes, drawing: NumberDrawing) -> Forward:
    standard, numbers = acknowledgment.standard, drawing.list_used()
    properties = (
        Property("interchange.standard", standard.name),
        Property("interchange.reference", str(numbers[0].number)),
        Property("interchange.answers", acknowledgment.found.reference),
    )
    return Forward(
        acknowledgment.receiver,
        acknowledgment.name,
        Part(id="answer", content_type=standard.content_type, data=stream),
        alone=True,
        topic="",
        properties=properties,
        assembled=AssembledInterchange(standard.name, numbers),
    )


def _by_sides(all_received: Iterable[ReceivedAcknowledgments]) -> Iterator[ReceivedAcknowledgments]:
    """Merge the acknowledgments between the same two parties, in their order."""
    said: dict[tuple[str, str, str], list[ReportedStatus]] = {}
    for one in all_received:
        said.setdefault((one.standard, one.ours, one.partner), []).extend(one.said)
    for (standard, ours, partner), every in said.items():
        yield ReceivedAcknowledgments(standard=standard, ours=ours, partner=partner, said=tuple(every))


def _number_named(said: ReportedStatus) -> tuple[StatusScope, str] | None:
    """Return the number to search by, of the interchange or the group; None if none is given."""
    if said.interchange:
        return StatusScope.INTERCHANGE, said.interchange.strip()
    return (StatusScope.GROUP, said.group.strip()) if said.group else None


class _AcknowledgmentLog:
    """The acknowledgments of one message, as journal entries."""

    def __init__(self, splitter: str, session: str, now_us: int) -> None:
        self._splitter, self._session, self._now_us = splitter, session, now_us

    def of_batch(self, received: ReceivedAcknowledgments, batch: str, found: BatchStatus) -> InterchangeAnswered:
        return self._entry(received.standard, batch, found.verdict, "; ".join(found.reasons), found.members)

    def unmatched_entry(
        self, unmatched: Sequence[tuple[ReceivedAcknowledgments, ReportedStatus]]
    ) -> InterchangeAnswered:
        """Return the entry for acknowledgments that match nothing that was sent."""
        first, said = unmatched[0]
        rejected = any(one.verdict is PartnerStatus.REJECTED for _, one in unmatched)
        texts: dict[str, list[str]] = {}
        for received, one in unmatched[:MAX_UNMATCHED]:
            texts.setdefault(f"from {received.partner} to {received.ours}", []).append(f"{one.named}: {one.verdict}")
        detail = "; ".join(f"{sides}: {'; '.join(every)}" for sides, every in texts.items())
        return self._entry(first.standard, "", PartnerStatus.REJECTED if rejected else said.verdict, detail)

    def _entry(
        self, standard: str, batch: str, verdict: PartnerStatus, detail: str, members: tuple[AnsweredMember, ...] = ()
    ) -> InterchangeAnswered:
        return InterchangeAnswered(
            at_us=self._now_us,
            by=self._splitter,
            session=self._session,
            standard=standard,
            batch=batch,
            verdict=verdict.value,
            members=members,
            detail=detail[:DETAIL_CHARS],
        )
